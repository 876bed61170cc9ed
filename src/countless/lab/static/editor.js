// Draw a gridworld: choose what to draw, then click, drag, or use the arrow keys and the space bar.

import { element } from "./words.js";

const TOOLS = [
  ["#", "wall"], [".", "floor"], ["S", "start"], ["9", "reward 9"], ["1", "reward 1"], ["x", "pit, −1"],
];
const CLASSES = { "#": "wall", S: "start", x: "pit" };
const NAMES = { "#": "wall", ".": "floor", S: "start", x: "pit" };
const MOST = 20;

export class Editor {
  constructor(root, changed) {
    this.root = root;
    this.changed = changed;
    this.tool = "#";
    this.focus = [0, 0];
    this.cells = element("div", { class: "cells", role: "grid", "aria-label": "The drawing" });
    this.width = this.#size("width");
    this.height = this.#size("height");
    const tools = element("fieldset", {}, element("legend", {}, "Draw with"));
    for (const [cell, name] of TOOLS) {
      const radio = element("input", {
        type: "radio", name: "tool", value: cell, id: `tool-${name.replace(/\W/g, "")}`,
        checked: cell === this.tool, onchange: () => { this.tool = cell; },
      });
      tools.append(element("span", {}, radio, " ", element("label", { for: radio.id }, name)));
    }
    const clear = element("button", { type: "button", onclick: () => this.#clear() }, "Clear");
    const sizes = element(
      "div", { class: "sizes" },
      element("label", { for: "draw-width" }, "Columns"), this.width,
      element("label", { for: "draw-height" }, "Rows"), this.height, clear,
    );
    root.replaceChildren(tools, this.cells, sizes);
    this.cells.addEventListener("pointerdown", (event) => {
      this.drawing = true;
      this.#paintAt(event);
    });
    this.cells.addEventListener("pointermove", (event) => this.drawing && this.#paintAt(event));
    window.addEventListener("pointerup", () => { this.drawing = false; });
    this.cells.addEventListener("keydown", (event) => this.#key(event));
  }

  show(map) {
    if (map === this.map) return;
    this.map = map;
    this.rows = map.split("|").map((row) => [...row]);
    this.width.value = this.rows[0].length;
    this.height.value = this.rows.length;
    this.focus = [0, 0];
    this.#build();
  }

  #size(name) {
    return element("input", {
      type: "number", min: 2, max: MOST, id: `draw-${name}`,
      onchange: () => this.#resize(Number(this.width.value), Number(this.height.value)),
    });
  }

  #resize(width, height) {
    const fit = (value) => Math.max(2, Math.min(MOST, Math.round(value) || 2));
    [width, height] = [fit(width), fit(height)];
    this.rows = Array.from({ length: height }, (_, y) =>
      Array.from({ length: width }, (_, x) => this.rows[y]?.[x] ?? "."),
    );
    this.#keepStart();
    this.#done(true);
  }

  #clear() {
    this.rows = this.rows.map((row) => row.map(() => "."));
    this.#keepStart();
    this.#done(true);
  }

  #keepStart() {
    if (!this.rows.some((row) => row.includes("S"))) this.rows[0][0] = "S";
  }

  #build() {
    this.cells.replaceChildren(
      ...this.rows.map((row, y) =>
        element("div", { role: "row" }, ...row.map((_, x) => this.#cell(y, x))),
      ),
    );
  }

  #cell(y, x) {
    const cell = element("div", { role: "gridcell", tabindex: this.#at(y, x) ? 0 : -1 });
    cell.dataset.y = y;
    cell.dataset.x = x;
    this.#paintCell(cell, this.rows[y][x]);
    return cell;
  }

  #paintCell(cell, kind) {
    cell.className = /\d/.test(kind) ? "reward" : (CLASSES[kind] ?? "");
    cell.textContent = kind === "." || kind === "#" ? "" : kind;
    const name = NAMES[kind] ?? `reward ${kind}`;
    cell.setAttribute("aria-label", `row ${Number(cell.dataset.y) + 1}, column ${Number(cell.dataset.x) + 1}: ${name}`);
  }

  #at(y, x) {
    return y === this.focus[0] && x === this.focus[1];
  }

  #paintAt(event) {
    const cell = document.elementFromPoint(event.clientX, event.clientY)?.closest("[role=gridcell]");
    if (!cell || !this.cells.contains(cell)) return;
    event.preventDefault();
    this.#paint(Number(cell.dataset.y), Number(cell.dataset.x));
  }

  // There is always a start: drawn anew it moves, and nothing is drawn over the last one.
  #paint(y, x) {
    const before = this.rows[y][x];
    if (before === this.tool || before === "S") return;
    if (this.tool === "S") {
      this.rows = this.rows.map((row) => row.map((cell) => (cell === "S" ? "." : cell)));
    }
    this.rows[y][x] = this.tool;
    this.#done(this.tool === "S");
    this.#paintCell(this.#element(y, x), this.tool);
  }

  #element(y, x) {
    return this.cells.children[y].children[x];
  }

  #done(rebuild) {
    this.map = this.rows.map((row) => row.join("")).join("|");
    if (rebuild) this.#build();
    this.changed(this.map);
  }

  #key(event) {
    const [y, x] = this.focus;
    if (event.key === " " || event.key === "Enter") {
      event.preventDefault();
      this.#paint(y, x);
      this.#element(y, x).focus();
      return;
    }
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = [y + step[0], x + step[1]];
    if (this.rows[next[0]]?.[next[1]] === undefined) return;
    this.#element(y, x).tabIndex = -1;
    this.focus = next;
    this.#element(...next).tabIndex = 0;
    this.#element(...next).focus();
  }
}
