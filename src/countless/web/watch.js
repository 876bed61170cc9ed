// A run to be watched: a film, a slider over its steps, and curves that follow it. Needs report.js.
"use strict";

const MOST_LINES = 30;  // episodes whose ends are drawn: more would bury the curves

function watchPage() {
  const holder = document.getElementById("watched");
  const run = JSON.parse(holder.textContent);
  const steps = run.score.length;
  const charts = [];
  let step = 1;

  const bytes = Uint8Array.from(atob(run.film), (letter) => letter.charCodeAt(0));
  const video = element("video", { playsinline: "", preload: "auto",
    "aria-label": "The game, and beside it the frame that the agent predicted",
    src: URL.createObjectURL(new Blob([bytes], { type: "video/mp4" })) });
  video.muted = true;

  const slider = element("input", { type: "range", min: 1, max: steps, value: 1, "aria-label": "Step",
    oninput: () => { video.pause(); seek(Number(slider.value)); } });
  const button = element("button", { type: "button", onclick: () => {
    if (!video.paused) { video.pause(); return; }
    if (step >= steps) seek(1);
    video.play();
  } }, "Play");
  const speed = element("select", { onchange: () => { video.playbackRate = Number(speed.value); } },
    ...[["0.25", "¼ speed"], ["1", "as played"], ["4", "4 times"], ["8", "8 times"]].map(([value, text]) =>
      element("option", value === "1" ? { value, selected: "" } : { value }, text)));
  const now = element("dl", { class: "now" });
  const fields = ["step", "episode", "score"].map((name) => {
    const value = element("dd");
    now.append(element("div", {}, element("dt", {}, name), value));
    return value;
  });
  fields.push(...run.curves.map(() => element("span", { class: "value" })));
  const small = element("div", { class: "stacked" });

  // The film has one picture per step: the middle of its time is always inside it.
  function seek(to) {
    video.currentTime = (to - 0.5) / run.rate;
    show(to);
  }

  function show(to) {
    step = Math.max(1, Math.min(steps, to));
    slider.value = step;
    const values = [`${step} of ${steps}`, run.episode[step - 1], run.score[step - 1],
      ...run.curves.map((curve) => curve.y[step - 1])];
    fields.forEach((field, i) => {
      field.textContent = typeof values[i] === "number" ? short(values[i]) : values[i];
    });
    charts.forEach((chart) => chart.redraw(false, false));
  }

  function follow() {
    show(Math.floor(video.currentTime * run.rate) + 1);
    if (!video.paused && !video.ended) requestAnimationFrame(follow);
  }
  video.addEventListener("play", () => { button.textContent = "Pause"; follow(); });
  for (const name of ["pause", "ended"])
    video.addEventListener(name, () => { button.textContent = "Play"; });

  function marks(u) {
    const { ctx, bbox } = u;
    const line = (x, colour, width) => {
      const at = u.valToPos(x, "x", true);
      if (at < bbox.left || at > bbox.left + bbox.width) return;
      ctx.beginPath();
      ctx.strokeStyle = colour;
      ctx.lineWidth = width * devicePixelRatio;
      ctx.moveTo(at, bbox.top);
      ctx.lineTo(at, bbox.top + bbox.height);
      ctx.stroke();
    };
    ctx.save();
    if (run.episode[steps - 1] <= MOST_LINES) run.episode.forEach((episode, i) => {
      if (i && episode !== run.episode[i - 1]) line(i + 0.5, ink("--soft"), 1);
    });
    line(step, ink("--ink"), 2);
    ctx.restore();
  }

  function draw() {
    charts.splice(0).forEach((chart) => chart.destroy());
    const x = run.score.map((_, i) => i + 1);
    run.curves.forEach((curve, i) => {
      const place = small.children[i].querySelector(".plot");
      const [below, beside] = axes("step", "");
      charts.push(new uPlot({ width: place.clientWidth, height: 150, legend: { show: false },
        scales: { x: { time: false } }, cursor: { drag: { x: false, y: false }, points: { show: false } },
        axes: [below, { ...beside, label: undefined, labelSize: 0, size: 60 }],
        series: [{}, { stroke: curve.colour, width: 1.5, points: { show: false } }],
        hooks: { draw: [marks], ready: [(u) => u.over.addEventListener("click", () => {
          video.pause();
          if (u.cursor.idx !== null) seek(u.cursor.idx + 1);
        })] } }, [x, curve.y], place));
    });
  }

  run.curves.forEach((curve, i) => small.append(element("div", { class: "chart" },
    element("h2", {}, `${curve.label}: `, fields[3 + i]),
    element("div", { class: "plot", role: "img", "aria-label": `${curve.label}, from ` +
      `${short(Math.min(...curve.y))} to ${short(Math.max(...curve.y))} over ${steps} steps` }))));
  holder.after(
    element("figure", { class: "film" }, video),
    element("div", { class: "player" }, button, slider,
      element("label", {}, "Speed ", speed)),
    now,
    small,
    element("p", { class: "note" }, (run.episode[steps - 1] <= MOST_LINES
      ? "Thin lines are where an episode ends. " : "") + "Press a curve to go there. " +
      "With the slider in focus, arrow keys go step by step."),
    element("div", { class: "tools" }, element("button", { type: "button", onclick: () => save(document.title, [
      ["step", "episode", "score", ...run.curves.map((curve) => curve.label)],
      ...run.score.map((score, i) => [i + 1, run.episode[i], score, ...run.curves.map((curve) => curve.y[i])]),
    ]) }, "Download CSV")));
  draw();
  show(1);
  redraws.push(draw);
}

watchPage();
