// The page: it holds the setting, asks the server for pictures of it, and draws them.

import { drawCurves, markStep } from "./chart.js";
import { Column, visitRange } from "./columns.js";
import { Editor } from "./editor.js";
import * as server from "./server.js";
import { parse, write } from "./setting.js";
import { Guide } from "./tours.js";
import { COLOURS, DASHES, element, whole } from "./words.js";

const $ = (id) => document.getElementById(id);
const PATIENCE = 1500; // milliseconds without an answer: a kernel is being compiled
const MOST_COLUMNS = 3;

const known = await server.catalogue();
let setting = parse(location.hash, known);
let picture = null;
let columns = [];
let chosen = 0;
let playing = null;
let srTimer = null;

const editor = new Editor($("editor"), (map) => change({ map }));
const guide = new Guide($("tours"), $("tour"), (text) => { stopPlaying(); setting = parse(text, known); change({}); });

// --- the setting -------------------------------------------------------------------------------

function change(part) {
  setting = { ...setting, ...part };
  history.replaceState(null, "", `#${write(setting)}`);
  showWorld();
  ask(performance.now());
}

function changeColumn(index, column) {
  change({ columns: setting.columns.map((old, i) => (i === index ? column : old)) });
}

function showWorld() {
  $("env").value = setting.env;
  if (document.activeElement !== $("seed")) $("seed").value = setting.seed;
  $("editor").hidden = setting.env !== "drawn";
  if (setting.env === "drawn") editor.show(setting.map);
  $("add").disabled = setting.columns.length >= MOST_COLUMNS;
}

async function ask(began) {
  const asked = setting;
  const report = document.documentElement.dataset;
  delete report.complete;
  const slow = setTimeout(() => {
    $("status").textContent = "Compiling this agent for this kind of world: once on a machine, some seconds …";
  }, PATIENCE);
  let first = null;
  try {
    await server.picture(asked, async (answer) => {
      clearTimeout(slow);
      draw({ ...answer, setting: asked });
      const time = (await shown()) - began;
      if (picture.setting !== asked) return;
      first ??= time;
      report.redrawn = first;
      if (answer.done) report.complete = time;
      const runs = Math.min(...answer.columns.map((column) => column.summary_of_runs.runs));
      const more = answer.done ? (time > first ? `, all runs in ${whole(time)} ms` : "") : `, ${runs} runs so far`;
      $("status").textContent = `Redrawn in ${whole(first)} ms${more}.`;
    });
  } catch (error) {
    $("problem").textContent = error.message;
    $("problem").hidden = false;
    $("status").textContent = "";
  } finally {
    clearTimeout(slow);
  }
}

// When the frame is on the screen that has what was just drawn.
function shown() {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(performance.now()))));
}

// --- drawing -----------------------------------------------------------------------------------

function draw(answer) {
  picture = answer;
  $("problem").hidden = true;
  const { mdp } = picture;
  if (chosen >= mdp.states || !mdp.layout.flat().includes(chosen)) chosen = mdp.start[0];
  const states = `${mdp.states} states, ${mdp.actions} actions`;
  $("env-words").textContent = `${states}; rewards span ${whole(mdp.reward_range)}. ${mdp.layout.length === 1 ? "States are drawn in a row." : ""}`;
  $("step").max = picture.marks.length - 1;
  showColumns();
  showReturns();
  drawCurves($("chart"), picture, picture.marks[at()]);
  drawMaps();
  askForRows();
  guide.tell(picture, at());
}

function at() {
  if (setting.step === null) return picture.marks.length - 1;
  const place = picture.marks.findIndex((mark) => mark >= setting.step);
  return place < 0 ? picture.marks.length - 1 : place;
}

function showColumns() {
  const wanted = picture.columns;
  if (columns.length !== wanted.length || wanted.some((c, i) => !columns[i].fits(c))) {
    const focused = document.activeElement?.id;
    columns = wanted.map((controls, i) => (columns[i]?.fits(controls) ? columns[i] : newColumn(i, controls)));
    $("columns").replaceChildren(...columns.map((column) => column.root));
    if (focused) $(focused)?.focus();
  }
  columns.forEach((column, i) => column.update(wanted[i]));
  $("columns").querySelectorAll(".remove").forEach((button) => { button.disabled = wanted.length < 2; });
}

function newColumn(index, controls) {
  return new Column(index, controls, {
    agents: () => known.agents,
    choose,
    setAgent: (agent) => changeColumn(index, { agent, parameters: {} }),
    setParameter: (name, value) => {
      const { agent, parameters } = setting.columns[index];
      changeColumn(index, { agent, parameters: { ...parameters, [name]: value } });
    },
    remove: () => change({ columns: setting.columns.filter((_, i) => i !== index) }),
  });
}

// The agent and what was changed of it: the same one may be there twice.
function label({ agent, parameters }) {
  const given = parameters.filter((p) => p.source === "given").map((p) => `${p.symbol} ${p.value}`);
  return [agent, ...given].join(", ");
}

function showReturns() {
  const rows = picture.columns.map((column, i) => {
    const s = column.summary_of_runs;
    const swatch = element("i");
    swatch.style.setProperty("--colour", `var(${COLOURS[i]})`);
    swatch.style.setProperty("--dash", DASHES[i]);
    const cells = [whole(s.mean), whole(s.half), whole(s.median), `${s.runs} of ${s.of}`];
    return element("tr", {}, element("td", {}, swatch, label(column)), ...cells.map((text) => element("td", {}, text)));
  });
  document.querySelector("#returns tbody").replaceChildren(...rows);
}

function drawMaps() {
  const index = at();
  $("step").value = index;
  const text = `${picture.marks[index].toLocaleString("en")} steps`;
  $("step-shown").textContent = text;
  $("step").setAttribute("aria-valuetext", text);
  const range = visitRange(picture, index);
  columns.forEach((column) => column.draw(picture, index, chosen, range));
}

function choose(state) {
  chosen = state;
  drawMaps();
}

// The rows of the SR come after the picture, when it has stood still for a moment.
function askForRows() {
  clearTimeout(srTimer);
  if (playing) return;
  srTimer = setTimeout(async () => {
    const asked = picture;
    const step = picture.marks[at()];
    for (const [i, column] of columns.entries()) {
      if (!column.controls.has_sr) continue;
      const answer = await server.representation(asked.setting, i, step).catch(() => null);
      if (picture !== asked) return;
      column.sr = answer?.arrays.sr ?? null;
      column.drawRow(picture.mdp, chosen);
    }
    document.documentElement.dataset.rows = String(step);
  }, 120);
}

// --- time --------------------------------------------------------------------------------------

function goTo(index) {
  const last = picture.marks.length - 1;
  setting.step = index >= last ? null : picture.marks[index];
  history.replaceState(null, "", `#${write(setting)}`);
  markStep(picture.marks[index]);
  drawMaps();
  askForRows();
}

function stopPlaying() {
  clearInterval(playing);
  playing = null;
  $("play").textContent = "Play";
}

$("step").addEventListener("input", () => { stopPlaying(); goTo(Number($("step").value)); });
$("play").addEventListener("click", () => {
  if (playing) {
    stopPlaying();
    askForRows();
    return;
  }
  let index = at() >= picture.marks.length - 1 ? 0 : at();
  $("play").textContent = "Pause";
  playing = setInterval(() => {
    if (index >= picture.marks.length - 1) stopPlaying();
    goTo(index);
    index += 1;
  }, 90);
});

// --- the rest of the page ------------------------------------------------------------------------

for (const name of known.envs) {
  $("env").append(element("option", { value: name }, name === "drawn" ? "your own drawing" : name));
}
$("env").addEventListener("change", () => change({ env: $("env").value }));
$("seed").addEventListener("change", () => change({ seed: Math.max(0, Math.floor(Number($("seed").value) || 0)) }));
$("add").addEventListener("click", () => change({ columns: [...setting.columns, { agent: "sarsa-sr", parameters: {} }] }));

$("show-command").addEventListener("click", () => {
  const parts = setting.env === "drawn" ? [element("p", {}, "First export the drawing as drawn.mdp, into the folder where you run this.")] : [];
  for (const column of picture.columns) {
    parts.push(element("h3", {}, label(column)));
    for (const [name, text] of [["In a terminal", column.command], ["In Python", column.python]]) {
      parts.push(element("p", { class: "small" }, name), element("pre", { tabindex: 0 }, text));
    }
  }
  $("command-body").replaceChildren(...parts);
  $("command").showModal();
});

$("export").addEventListener("click", async () => {
  try {
    const bytes = await server.exported(setting);
    const link = element("a", { href: URL.createObjectURL(new Blob([bytes])), download: `${setting.env}.mdp` });
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (error) {
    $("problem").textContent = error.message;
    $("problem").hidden = false;
  }
});

$("copy-link").addEventListener("click", async () => {
  await navigator.clipboard.writeText(location.href);
  $("status").textContent = "Copied: the address holds the whole setting, as long as this lab is open.";
});

window.addEventListener("hashchange", () => { setting = parse(location.hash, known); change({}); });
const redraw = () => picture && (drawCurves($("chart"), picture, picture.marks[at()]), drawMaps());
new ResizeObserver(redraw).observe($("chart"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
change({});
