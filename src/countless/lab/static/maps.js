// Heat maps of states: on the map of the MDP, or in a row where it has none.

import { scaleOf, viridis } from "./web/heat.js";
import { colour, element, short } from "./words.js";

const STRIP_CELL = 46;
const TEXT_STRIP = 34; // pixels from which a cell has room for its number: in a row, on a map
const TEXT_MAP = 50;

export class HeatMap {
  // `label` names what is shown; `choose(state)` is called for the state under pointer or focus.
  constructor(label, choose) {
    this.canvas = element("canvas", { tabindex: 0, role: "img" });
    this.caption = element("figcaption", {}, label);
    this.low = element("span");
    this.high = element("span");
    this.legend = element("div", { class: "legend" }, this.low, element("i"), this.high);
    this.figure = element("figure", {}, this.caption, this.canvas, this.legend);
    this.label = label;
    this.choose = choose;
    this.canvas.addEventListener("pointermove", (event) => this.#point(event));
    this.canvas.addEventListener("pointerdown", (event) => this.#point(event));
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  // `range` fixes the ends of the colours, so that maps side by side can be compared.
  draw(layout, values, chosen, range = null) {
    this.layout = layout;
    this.chosen = chosen;
    const rows = layout.length;
    const columns = layout[0].length;
    const width = this.figure.clientWidth || 160;
    const side = width / columns;
    const tall = rows === 1 ? STRIP_CELL : side;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(tall * rows * ratio);
    this.canvas.style.height = `${tall * rows}px`;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    const scale = scaleOf(values, range);
    this.low.textContent = (scale.below ? "≤ " : "") + short(scale.low);
    this.high.textContent = short(scale.high) + (scale.log ? " (log)" : "");
    for (let y = 0; y < rows; y++) {
      for (let x = 0; x < columns; x++) {
        this.#cell(context, layout[y][x], values, scale, x * side, y * tall, side, tall);
      }
    }
    this.#outline(context, side, tall);
    const value = short(values[chosen]);
    this.canvas.setAttribute("aria-label", `${this.label}; state ${chosen}: ${value}`);
  }

  #cell(context, state, values, scale, x, y, side, tall) {
    const value = state < 0 ? NaN : values[state];
    const known = state >= 0 && !Number.isNaN(value) && !(scale.log && value <= 0);
    const rgb = known ? viridis(scale.share(value)) : null;
    context.fillStyle = state < 0 ? colour("--wall") : rgb ? `rgb(${rgb})` : colour("--empty");
    context.fillRect(x, y, side + 0.5, tall + 0.5);
    if (state < 0 || side < (this.layout.length === 1 ? TEXT_STRIP : TEXT_MAP)) return;
    const light = rgb && (0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]) > 130;
    context.fillStyle = rgb ? (light ? "#000" : "#fff") : colour("--ink");
    context.textAlign = "center";
    context.font = "12px system-ui, sans-serif";
    context.fillText(short(value), x + side / 2, y + tall / 2 + (tall > 40 ? 14 : 4), side - 2);
    if (tall > 40) context.fillText(`s${state}`, x + side / 2, y + tall / 2 - 8, side - 2);
  }

  #outline(context, side, tall) {
    this.layout.forEach((row, y) => row.forEach((state, x) => {
      if (state !== this.chosen) return;
      for (const [inset, stroke] of [[1, "#fff"], [2.5, "#000"]]) {
        context.strokeStyle = stroke;
        context.lineWidth = 1.5;
        context.strokeRect(x * side + inset, y * tall + inset, side - 2 * inset, tall - 2 * inset);
      }
    }));
  }

  #point(event) {
    if (!this.layout) return;
    const box = this.canvas.getBoundingClientRect();
    const y = Math.floor(((event.clientY - box.top) / box.height) * this.layout.length);
    const x = Math.floor(((event.clientX - box.left) / box.width) * this.layout[0].length);
    const state = this.layout[y]?.[x] ?? -1;
    if (state >= 0 && state !== this.chosen) this.choose(state);
  }

  #key(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step || !this.layout) return;
    event.preventDefault();
    let y = this.layout.findIndex((row) => row.includes(this.chosen));
    let x = y < 0 ? 0 : this.layout[y].indexOf(this.chosen);
    y = Math.max(y, 0);
    do {
      [y, x] = [y + step[0], x + step[1]];
    } while (this.layout[y]?.[x] === -1);
    const state = this.layout[y]?.[x];
    if (state !== undefined) this.choose(state);
  }
}
