// The charts of a report: each is drawn from the JSON beside it. Depends on uPlot alone.
"use strict";

const DASHES = { "-": [], "--": [7, 4], ":": [2, 3] };
const DARK = matchMedia("(prefers-color-scheme: dark)");
const PRINT = matchMedia("print");
const redraws = [];
const printing = () => document.documentElement.classList.contains("printing");

const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// Black lines would vanish on a dark page.
const shown = (colour) => (colour === "#000000" && DARK.matches && !printing() ? "#FFFFFF" : colour);

function short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  const trim = (x) => String(Number(x.toPrecision(3)));
  if (size >= 1e6) return trim(value / 1e6) + "M";
  if (size >= 1e4) return trim(value / 1e3) + "k";
  return String(Number(value.toPrecision(size >= 1000 ? 4 : 3)));
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function swatch(colour, dash, point) {
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("width", 24);
  picture.setAttribute("height", 8);
  picture.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  const ends = point ? { x1: 12, x2: 12, "stroke-width": 8, "stroke-linecap": "round" }
    : { x1: 0, x2: 24, "stroke-width": 3 };
  const set = { ...ends, y1: 4, y2: 4, stroke: shown(colour) };
  for (const [name, value] of Object.entries(set)) line.setAttribute(name, value);
  line.setAttribute("stroke-dasharray", DASHES[dash].join(" "));
  picture.append(line);
  return picture;
}

function axes(x, y) {
  const common = { stroke: ink("--ink"), grid: { stroke: ink("--line"), width: 1 },
    ticks: { stroke: ink("--line"), width: 1 }, font: "12px system-ui", labelFont: "12px system-ui" };
  const values = (_, splits) => splits.map((v) => (v === null ? "" : short(v)));
  return [{ ...common, label: x, values, labelSize: 22, size: 34, space: 60 },
          { ...common, label: y, values, labelSize: 22, size: 52 }];
}

// One table of x and columns for uPlot: lines with their own x are joined. Points may share an x: each
// has a row of its own.
function joined(lines, log) {
  const drawn = (values) => (log.includes("y") ? values.map((v) => (v > 0 ? v : null)) : values);
  const tables = lines.map((line) =>
    [line.x, ...[line.y, line.low, line.high].filter(Boolean).map(drawn)]);
  if (!lines.some((line) => line.points === "only")) return uPlot.join(tables);
  const rows = tables.flatMap((table, i) => table[0].map((x, k) => [x, i, k])).sort((a, b) => a[0] - b[0]);
  return [rows.map((row) => row[0]), ...tables.flatMap((table, i) => table.slice(1).map((column) =>
    rows.map(([, own, k]) => (own === i ? column[k] : undefined))))];
}

function fade(colour, alpha) {
  return colour + Math.round(alpha * 255).toString(16).padStart(2, "0");
}

function lineChart(place, chart) {
  const data = joined(chart.series, chart.log);
  const hidden = new Set(chart.series.flatMap((line, i) => (line.hidden ? [i] : [])));
  const legend = element("div", { class: "legend", role: "group", "aria-label": "Lines; press to hide" });
  let plot = null;

  const columns = [];  // of each series: where its y stands in the table
  let next = 1;
  for (const line of chart.series) {
    columns.push(next);
    next += line.low ? 3 : 1;
  }

  function options(width) {
    const series = [{}];
    const bands = [];
    chart.series.forEach((line, i) => {
      const colour = shown(line.colour);
      const paths = line.points === "only" ? () => null
        : chart.steps ? uPlot.paths.stepped({ align: chart.steps }) : undefined;
      const base = { stroke: colour, width: 2, dash: DASHES[line.dash], show: !hidden.has(i), paths };
      series.push({ ...base, label: line.label,
        points: line.points ? { show: true, size: 6, width: 1, fill: colour } : { show: false } });
      if (line.low) {
        const edge = { ...base, width: 0, stroke: "transparent", points: { show: false } };
        series.push({ ...edge, label: "low" }, { ...edge, label: "high" });
        bands.push({ series: [columns[i] + 2, columns[i] + 1], fill: fade(colour, 0.18) });
      }
    });
    const [x, y] = axes(chart.x, chart.y);
    const scales = { x: { time: false }, y: chart.span ? { range: chart.span } : {} };
    for (const [name, axis] of [["x", x], ["y", y]]) {
      if (!chart.log.includes(name)) continue;
      // The ends are those of the data, not powers of ten.
      Object.assign(scales[name], { distr: 3, range: (_, low, high) => [low / 1.1, high * 1.1] });
      axis.splits = (_, __, low, high) => roundTicks(low, high, true);
      axis.filter = (_, splits) => splits;
    }
    if (chart.ticks.length)
      x.splits = (_, __, low, high) => chart.ticks.filter((tick) => low <= tick && tick <= high);
    return { width, height: Math.max(220, Math.min(320, width * 0.62)), series, bands, axes: [x, y], scales,
      cursor: { drag: { x: true, y: !chart.span, uni: 20 }, points: { size: 7 } },
      hooks: { setCursor: [read] } };
  }

  function read(u) {
    const at = u.cursor.idx;
    chart.series.forEach((line, i) => {
      const value = legend.children[i].querySelector(".value");
      let near = at;
      // Joined lines have gaps: the last known value is the one to show. Points have none between them.
      while (line.points !== "only" && near !== null && near > 0 && (u.data[columns[i]][near] ?? null) === null) near -= 1;
      const known = near === null ? undefined : u.data[columns[i]][near];
      value.textContent = known === undefined ? "" : short(known);
    });
    where.textContent = at === null ? "" : `${chart.x}: ${short(u.data[0][at])}`;
  }

  function draw() {
    const width = holder.clientWidth;
    if (!width) return;
    if (plot) plot.destroy();
    plot = new uPlot(options(width), data, holder);
  }

  chart.series.forEach((line, i) => {
    const button = element("button", { type: "button", "aria-pressed": String(!hidden.has(i)), onclick: () => {
      hidden.has(i) ? hidden.delete(i) : hidden.add(i);
      button.setAttribute("aria-pressed", String(!hidden.has(i)));
      draw();
    } }, swatch(line.colour, line.dash, line.points === "only"), element("span", { class: "name" }, line.label),
    element("span", { class: "value" }));
    legend.append(button);
  });

  function zoom(factor, shift = 0) {
    const [to, back] = chart.log.includes("x") ? [Math.log, Math.exp] : [(v) => v, (v) => v];
    const [min, max, first, last] =
      [plot.scales.x.min, plot.scales.x.max, data[0][0], data[0][data[0].length - 1]].map(to);
    const middle = (min + max) / 2 + shift * (max - min);
    const half = Math.min((max - min) * factor, last - first) / 2;
    const low = Math.max(first, Math.min(middle - half, last - 2 * half));
    plot.setScale("x", { min: back(low), max: back(low + 2 * half) });
  }
  const keys = { "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1.7), "0": draw,
    ArrowLeft: () => zoom(1, -0.2), ArrowRight: () => zoom(1, 0.2) };
  const last = chart.series.filter((line) => line.points !== "only" && !line.hidden)
    .map((line) => `${line.label} ${short(line.y.findLast((y) => y !== null))}`);
  const holder = element("div", { class: "plot", role: "img", tabindex: "0",
    "aria-label": `${chart.title}: ${chart.y} against ${chart.x}. ` +
      (last.length ? `At the right end: ${last.join(", ")}. ` : "") +
      "Keys: plus and minus zoom, arrows move, zero zooms out.",
    onkeydown: (event) => { if (keys[event.key]) { keys[event.key](); event.preventDefault(); } } });
  const where = element("span", { class: "note" });
  const tools = element("div", { class: "tools" },
    element("button", { type: "button", onclick: draw }, "Zoom out"),
    element("button", { type: "button", onclick: () => save(chart.title, lineCsv(chart)) }, "Download CSV"),
    where);
  place.append(element("h3", {}, chart.title), holder, legend, tools);
  draw();
  redraws.push(draw);
}

function lineCsv(chart) {
  const rows = [["line", chart.x, chart.y, "low", "high"]];
  for (const line of chart.series)
    line.x.forEach((x, i) => rows.push([line.label, x, line.y[i], line.low?.[i], line.high?.[i]]));
  return rows;
}

// Round numbers from one to another: about five, or powers of ten and parts of them.
function roundTicks(low, high, log) {
  if (log) {
    const decades = [];
    for (let k = Math.floor(Math.log10(low)); k <= Math.log10(high); k += 1) decades.push(10 ** k);
    const ticks = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7]].map((parts) => decades.flatMap((decade) =>
      parts.map((part) => Number((part * decade).toPrecision(2)))).filter((tick) => low <= tick && tick <= high))
      .findLast((some) => some.length <= 6);
    if (ticks && ticks.length > 1) return ticks;
  }
  const unit = 10 ** Math.floor(Math.log10((high - low) / 3));
  const step = [1, 2, 5, 10].map((part) => part * unit).find((one) => (high - low) / one <= 6);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-9) + 1e-12; k += 1) ticks.push(k * step);
  return ticks;
}

// A list, so that it is read as text; the drawing beside each text is made of boxes and needs no redraw.
function intervals(place, chart) {
  const every = chart.rows.flatMap(([, marks]) => marks.flatMap((mark) => (mark ? mark.slice(0, 3) : [])))
    .filter((value) => value !== null);
  const [least, most] = every.length ? [Math.min(...every), Math.max(...every)] : [chart.log ? 1 : 0, 1];
  const pad = (most - least) / 50 || 0.5;
  const [low, high] = chart.log ? [least / 1.15, most * 1.15] : [least >= 0 && least < most / 2 ? 0 : least - pad, most + pad];
  const to = chart.log ? Math.log : (value) => value;
  const at = (value) => (100 * (to(value) - to(low))) / (to(high) - to(low));
  const ticks = roundTicks(low, high, chart.log);
  const digits = Math.max(0, 2 - Math.round(Math.log10(high - low)));
  const tell = (value) => (value === null || chart.log || digits === 0 && Math.abs(value) >= 1000 ? short(value)
    : value.toFixed(digits).replace(/^-(?=[0.]*$)/, ""));
  const list = element("ul", { class: "intervals", "aria-label": `${chart.title}: ${chart.x}, point and interval` });
  list.style.setProperty("--grid", ticks.map((tick) => `linear-gradient(90deg, transparent calc(${at(tick)}% - .5px), ` +
    `var(--line) 0 calc(${at(tick)}% + .5px), transparent 0)`).join(","));

  const dot = (k) => {
    const made = element("span", { class: `dot shape-${k % 4}` });
    made.style.color = chart.colours[k];
    return made;
  };
  function lane(mark, k) {
    const made = element("div", { "data-of": k });
    const [value, from, until] = mark ?? [null, null, null];
    if (from !== null) {
      const bar = element("span", { class: "bar" });
      Object.assign(bar.style, { left: `${at(from)}%`, width: `${at(until) - at(from)}%`, color: chart.colours[k] });
      made.append(bar);
    }
    if (value !== null) {
      const point = dot(k);
      point.style.left = `${at(value)}%`;
      made.append(point);
    }
    return made;
  }
  function text(mark, k) {
    const [value, from, until, note] = mark ?? [null, null, null];
    const ends = from === null ? "" : ` (${tell(from)} to ${tell(until)})`;
    const name = chart.names.length > 1 ? [dot(k), element("span", { class: "unseen" }, `${chart.names[k]}: `)] : [];
    return element("div", { "data-of": k }, ...name, tell(value) + ends + (note ? `, ${note}` : ""));
  }
  for (const [label, marks] of chart.rows)
    list.append(element("li", {}, element("span", { class: "who" }, label),
      element("div", { class: "said" }, ...marks.map(text)),
      element("div", { class: "track", "aria-hidden": "true" }, ...marks.map(lane))));
  const scale = element("div", { class: "track scale" }, ...ticks.map((tick) => {
    const shownTick = element("span", {}, short(tick));
    shownTick.style.left = `${at(tick)}%`;
    return shownTick;
  }), element("div", { class: "axis" }, chart.x));
  list.append(element("li", { "aria-hidden": "true" }, scale));

  const legend = element("div", { class: "legend", role: "group", "aria-label": "Marks; press to hide" },
    ...chart.names.map((name, k) => {
      const button = element("button", { type: "button", "aria-pressed": "true", onclick: () => {
        const hide = button.getAttribute("aria-pressed") === "true";
        button.setAttribute("aria-pressed", String(!hide));
        list.querySelectorAll(`[data-of="${k}"]`).forEach((one) => { one.hidden = hide; });
      } }, dot(k), element("span", { class: "name" }, name));
      return button;
    }));
  const tools = element("div", { class: "tools" }, element("button", { type: "button",
    onclick: () => save(chart.title, intervalCsv(chart)) }, "Download CSV"));
  place.append(element("h3", {}, chart.title), ...(chart.names.length > 1 ? [legend] : []),
    element("div", { class: "rows" }, list), tools);
}

function intervalCsv(chart) {
  const rows = [[chart.label, "of", chart.x, "low", "high", "note"]];
  for (const [label, marks] of chart.rows)
    marks.forEach((mark, k) => { if (mark) rows.push([label, chart.names[k], ...mark.slice(0, 3), mark[3]]); });
  return rows;
}

function quantile(sorted, share) {
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

function explorer(place, chart) {
  const titles = Object.keys(chart.sweeps);
  const small = element("div", { class: "small" });
  const count = element("p", { class: "note", role: "status" });
  const filters = element("div", { class: "filters" });
  const chooser = element("select", { onchange: () => choose(chooser.value) },
    ...titles.map((title) => element("option", { value: title }, title)));
  let sweep = null, picked = [], plots = [];

  function choose(title) {
    sweep = chart.sweeps[title];
    picked = sweep.names.map(() => null);
    filters.replaceChildren();
    if (titles.length > 1) filters.append(element("label", {}, "Sweep", chooser));
    sweep.names.forEach((name, k) => {
      const choice = element("select", { onchange: () => {
        picked[k] = choice.value === "" ? null : Number(choice.value);
        draw();
      } }, element("option", { value: "" }, "all"),
      ...sweep.levels[k].map((level, i) => element("option", { value: i }, short(level))));
      filters.append(element("label", {}, name, choice));
    });
    filters.append(element("button", { type: "button",
      onclick: () => save(title, explorerCsv(sweep, chart.y)) }, "Download CSV"));
    draw();
  }

  function fits(setting, but) {
    return picked.every((level, k) => k === but || level === null || sweep.settings[k][setting] === level);
  }

  // Of each level of a parameter: the quartiles, the median, the best, and the published setting.
  function columns(k, every) {
    const data = [[...sweep.levels[k].keys()], [], [], [], [], []];
    sweep.levels[k].forEach((_, i) => {
      const here = every.filter((setting) => sweep.settings[k][setting] === i && fits(setting, k))
        .map((setting) => sweep.means[setting]).sort((a, b) => a - b);
      const values = here.length ? [quantile(here, 0.25), quantile(here, 0.75), quantile(here, 0.5),
        here[here.length - 1]] : [null, null, null, null];
      values.forEach((value, column) => data[column + 1].push(value));
      const marked = sweep.marked !== null && sweep.settings[k][sweep.marked] === i;
      data[5].push(marked ? sweep.means[sweep.marked] : null);
    });
    return data;
  }

  function draw() {
    plots.forEach((plot) => plot.destroy());
    const every = [...sweep.means.keys()];
    const kept = every.filter((setting) => fits(setting, -1));
    count.textContent = `${kept.length} of ${every.length} settings; the best mean is ` +
      short(Math.max(...kept.map((setting) => sweep.means[setting])));
    const top = Math.max(...sweep.means) * 1.05;
    const tables = sweep.names.map((_, k) => columns(k, every));
    // All places first: only then is it known how wide each is.
    const holders = sweep.names.map((name, k) => element("div", { class: "plot", role: "img",
      "aria-label": `${chart.y} against ${name}; the best is ` + sweep.levels[k].map((level, i) =>
        `${short(tables[k][4][i])} at ${short(level)}`).join(", ") }));
    small.replaceChildren(...holders);
    const none = { width: 0, stroke: "transparent", points: { show: false } };
    const blue = "#0072B2", orange = "#D55E00";
    plots = sweep.names.map((name, k) => {
      const levels = sweep.levels[k];
      const each = Math.ceil(levels.length / 6);
      const ticks = [...levels.keys()].filter((i) => i % each === 0);
      const [x, y] = axes(name, chart.y);
      return new uPlot({ width: holders[k].clientWidth, height: 210, legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false, range: [-0.3, levels.length - 0.7] }, y: { range: [0, top] } },
        axes: [{ ...x, splits: () => ticks, values: () => ticks.map((i) => short(levels[i])), space: 10 },
               { ...y, size: 46, labelSize: 18 }],
        bands: [{ series: [2, 1], fill: fade(blue, 0.2) }],
        series: [{}, none, none,
          { stroke: ink("--soft"), width: 1, points: { show: false } },
          { stroke: blue, width: 2.5, points: { show: levels.length < 20, size: 5, fill: blue } },
          { stroke: orange, width: 0, points: { show: true, size: 10, fill: orange } }],
      }, tables[k], holders[k]);
    });
  }

  place.append(element("h3", {}, chart.title), filters, count, small);
  choose(titles[0]);
  redraws.push(draw);
}

function explorerCsv(sweep, y) {
  const rows = [[...sweep.names, y, "published"]];
  sweep.means.forEach((mean, setting) => rows.push([
    ...sweep.names.map((_, k) => sweep.levels[k][sweep.settings[k][setting]]), mean,
    setting === sweep.marked ? "yes" : ""]));
  return rows;
}

// One row of maps for each agent, and a slider over time. At any time a column shares its colours.
function maps(place, chart) {
  const names = Object.keys(chart.rows[0].maps);
  const bars = [];
  let at = 0, timer = null;
  const reading = element("p", { class: "note", role: "status" });
  const where = element("output", {});
  const slider = element("input", { type: "range", min: 0, max: chart.times.length - 1, value: 0,
    "aria-label": `Time, in ${chart.unit}`, oninput: () => { stop(); show(Number(slider.value)); } });
  const button = element("button", { type: "button", onclick: () => (timer ? stop() : play()) }, "Play");
  const grid = element("div", { class: "maps", style: `--columns: ${names.length}` });
  const canvases = chart.rows.map((row) => {
    grid.append(element("h4", {}, row.label));
    return names.map((name, k) => {
      const canvas = element("canvas", { role: "img" });
      canvas.addEventListener("pointermove", (event) => read(event, row, name));
      const bar = element("div", { class: "bar" }, element("span"), element("i"), element("span"));
      bars.push({ bar, k });
      grid.append(element("div", {}, element("p", { class: "name" }, name), canvas, bar));
      return canvas;
    });
  });

  function stop() {
    clearInterval(timer);
    timer = null;
    button.textContent = "Play";
  }

  function play() {
    if (at === chart.times.length - 1) at = -1;
    button.textContent = "Stop";
    timer = setInterval(() => {
      show(at + 1);
      if (at === chart.times.length - 1) stop();
    }, 350);
  }

  function read(event, row, name) {
    const box = event.target.getBoundingClientRect();
    const y = Math.floor(((event.clientY - box.top) / box.height) * chart.layout.length);
    const x = Math.floor(((event.clientX - box.left) / box.width) * chart.layout[0].length);
    const state = chart.layout[y]?.[x] ?? -1;
    reading.textContent = state < 0 ? "" :
      `${row.label}, cell in row ${y + 1} and column ${x + 1}: ${name} ${short(row.maps[name][at][state])}`;
  }

  function paint(canvas, values, scale) {
    const [height, width] = [chart.layout.length, chart.layout[0].length];
    const side = Math.max(2, Math.round((canvas.clientWidth * devicePixelRatio) / width));
    [canvas.width, canvas.height] = [side * width, side * height];
    const context = canvas.getContext("2d");
    chart.layout.forEach((row, y) => row.forEach((state, x) => {
      const value = state < 0 ? null : values[state];
      const known = value !== null && !(scale.log && value <= 0);
      context.fillStyle = state < 0 ? ink("--wall") : known ? `rgb(${viridis(scale.share(value))})` : ink("--empty");
      context.fillRect(x * side, y * side, side, side);
    }));
  }

  function show(to) {
    at = to;
    slider.value = at;
    where.textContent = `after ${chart.times[at].toLocaleString("en")} ${chart.unit}`;
    const scales = names.map((name) => scaleOf(chart.rows.flatMap((row) => row.maps[name][at])));
    for (const { bar, k } of bars) {
      bar.firstChild.textContent = (scales[k].below ? "≤ " : "") + short(scales[k].low);
      bar.lastChild.textContent = short(scales[k].high) + (scales[k].log ? " (log)" : "");
    }
    chart.rows.forEach((row, i) => names.forEach((name, k) => {
      const values = row.maps[name][at];
      const { low, high } = ends(values);
      paint(canvases[i][k], values, scales[k]);
      canvases[i][k].setAttribute("aria-label", `${row.label}, ${name} ${where.textContent}: ` +
        `from ${short(low)} to ${short(high)} over ${values.filter((v) => v).length} of ${values.length} cells`);
    }));
  }

  place.append(element("h3", {}, chart.title), element("div", { class: "player" }, button, slider, where), grid, reading,
    element("div", { class: "tools" }, element("button", { type: "button",
      onclick: () => save(chart.title, mapCsv(chart, names)) }, "Download CSV")));
  show(Math.floor(chart.times.length / 2));
  redraws.push(() => show(at));
}

function mapCsv(chart, names) {
  const rows = [["agent", chart.unit, "state", ...names]];
  for (const row of chart.rows)
    chart.times.forEach((time, t) => row.maps[names[0]][t].forEach((_, state) =>
      rows.push([row.label, time, state, ...names.map((name) => row.maps[name][t][state])])));
  return rows;
}

function save(title, rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csv = rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";
  const link = element("a", { download: title.replace(/[^\p{L}\p{N}]+/gu, "-") + ".csv",
    href: URL.createObjectURL(new Blob([csv], { type: "text/csv" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function copy(button) {
  const text = button.dataset.copy;
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // pages opened from disk may not have a clipboard
    const field = element("textarea", {}, text);
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  const before = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1500);
}

// A chart takes the place that was kept for it, and from then on as much as it needs.
function drawPlace(place) {
  if (place.dataset.drawn) return;
  const draw = { lines: lineChart, explorer, intervals, maps };
  const chart = JSON.parse(place.querySelector("script").textContent);
  draw[chart.kind](place, chart);
  place.dataset.drawn = "yes";
}

// What stands before or in the target of a link is drawn first: nothing can push it away afterwards.
function drawBefore(hash) {
  let target = null;
  try {
    target = hash.length > 1 ? document.getElementById(decodeURIComponent(hash.slice(1))) : null;
  } catch { /* not the name of a part of this page */ }
  if (target === null) return null;
  const { DOCUMENT_POSITION_FOLLOWING: after, DOCUMENT_POSITION_CONTAINS: around } = Node;
  for (const place of document.querySelectorAll(".chart"))
    if (place.compareDocumentPosition(target) & (after | around)) drawPlace(place);
  return target;
}

// On paper every chart is drawn, in the colours of a light page and as wide as the paper.
const SHORT = 40;  // rows of the tables in a part that is folded away; longer ones stay so
let opened = [];
function toPaper() {
  if (printing()) return;
  document.documentElement.classList.add("printing");
  opened = [...document.querySelectorAll("details:not([open])")]
    .filter((part) => part.querySelectorAll("tr").length <= SHORT);
  opened.forEach((part) => { part.open = true; });
  document.querySelectorAll(".chart").forEach(drawPlace);
  redraws.forEach((redraw) => redraw());
}

function toScreen() {
  if (!printing()) return;
  document.documentElement.classList.remove("printing");
  opened.forEach((part) => { part.open = false; });
  redraws.forEach((redraw) => redraw());
}

// A table that is wider than its place says so in words.
const cues = new Map();
function tellWide() {
  for (const [table, cue] of cues) cue.hidden = table.scrollWidth <= table.clientWidth + 1;
}

function addCues() {
  for (const table of document.querySelectorAll(".scroll")) {
    const cue = element("p", { class: "cue", hidden: "" }, "This table is wider than the page: scroll it sideways for more.");
    table.before(cue);
    cues.set(table, cue);
  }
  tellWide();
}

function start() {
  // Charts far below are drawn when they come near: a long report opens at once.
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      watcher.unobserve(entry.target);
      drawPlace(entry.target);
    }
  }, { rootMargin: "600px" });
  addCues();
  const asked = drawBefore(location.hash);
  if (asked) addEventListener("load", () => asked.scrollIntoView());
  document.querySelectorAll(".chart").forEach((place) => watcher.observe(place));
  document.querySelectorAll("button[data-copy]").forEach((button) =>
    button.addEventListener("click", () => copy(button)));
  document.querySelectorAll('a[href^="#"]').forEach((link) =>
    link.addEventListener("click", () => drawBefore(link.getAttribute("href"))));
  document.querySelectorAll("details").forEach((part) => part.addEventListener("toggle", tellWide));
  let waiting = null;
  const again = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { redraws.forEach((redraw) => redraw()); tellWide(); }, 150);
  };
  addEventListener("resize", again);
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", toScreen);
  PRINT.addEventListener("change", () => (PRINT.matches ? toPaper() : toScreen()));
  DARK.addEventListener("change", again);
}

start();
