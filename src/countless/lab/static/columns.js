// One panel for each agent: which one, its parameters, its maps.

import { HeatMap } from "./maps.js";
import { ends } from "./web/heat.js";
import { COLOURS, element, short } from "./words.js";

const MAIN = ["alpha", "eta", "gamma_sr", "beta", "epsilon", "norm"];

export class Column {
  // `hooks`: agents(), setAgent(agent), setParameter(name, value), remove(), choose(state).
  constructor(index, controls, hooks) {
    this.index = index;
    this.hooks = hooks;
    this.sr = null;
    this.maps = {
      visits: new HeatMap("visits per run", hooks.choose),
      norm: new HeatMap("norm", hooks.choose),
      bonus: new HeatMap("bonus (reward units)", hooks.choose),
      row: new HeatMap("row of the SR", hooks.choose),
    };
    this.root = element("article", { class: "panel column", "aria-labelledby": `agent-label-${index}` });
    this.root.style.setProperty("--colour", `var(${COLOURS[index]})`);
    this.#build(controls);
  }

  // Whether other controls are needed: another agent, or another range of a slider.
  fits(controls) {
    return this.signature === signature(controls);
  }

  #build(controls) {
    this.signature = signature(controls);
    this.inputs = {};
    const id = `agent-${this.index}`;
    const select = element("select", {
      id,
      onchange: () => this.hooks.setAgent(select.value),
    });
    for (const [name, text] of Object.entries(this.hooks.agents())) {
      select.append(element("option", { value: name, title: text }, name));
    }
    select.value = controls.agent;
    const number = `Agent ${this.index + 1}`;
    const remove = element(
      "button",
      { type: "button", class: "remove", "aria-label": `Remove agent ${this.index + 1}`, onclick: this.hooks.remove },
      "Remove",
    );
    const main = MAIN.map((name) => controls.parameters.find((p) => p.name === name)).filter(Boolean);
    const rest = controls.parameters.filter((p) => !MAIN.includes(p.name));
    const more = element("details", {}, element("summary", {}, "More parameters"));
    more.append(...rest.map((parameter) => this.#field(parameter)));
    this.reading = element("p", { class: "reading" });
    this.caution = element("p", { class: "small" });
    const figures = element("div", { class: "maps" });
    figures.append(this.maps.visits.figure);
    if (controls.quantity) figures.append(this.maps.norm.figure);
    if (controls.has_bonus) figures.append(this.maps.bonus.figure);
    if (controls.has_sr) figures.append(this.maps.row.figure);
    if (!controls.quantity) {
      figures.append(element("p", { class: "nothing" }, `${controls.agent} learns no norm and has no bonus per state to show.`));
    }
    this.figures = figures;
    this.root.replaceChildren(
      element("div", { class: "head" }, element("label", { for: id, id: `agent-label-${this.index}` }, number), select, remove),
      element("p", { class: "small" }, controls.summary),
      element("div", {}, ...main.map((parameter) => this.#slider(parameter)), ...(rest.length ? [more] : []), this.caution),
      figures,
      this.reading,
    );
    if (controls.quantity) this.#name("norm", controls.quantity);
    this.update(controls);
  }

  #name(map, label) {
    this.maps[map].label = label;
    this.maps[map].caption.textContent = label;
  }

  #slider(parameter) {
    const id = `p-${this.index}-${parameter.name}`;
    const input = element("input", {
      id, type: "range", min: 0, max: parameter.stops.length - 1, step: 1,
      oninput: () => {
        const value = parameter.stops[Number(input.value)];
        this.#show(parameter, value, true);
        this.hooks.setParameter(parameter.name, value);
      },
    });
    const output = element("output", { for: id });
    this.inputs[parameter.name] = { input, output };
    const label = element("label", { for: id, title: parameter.help }, parameter.symbol);
    return element("div", { class: "slider" }, label, input, output);
  }

  #field(parameter) {
    const id = `p-${this.index}-${parameter.name}`;
    const options = parameter.choices ?? (parameter.switch ? ["true", "false"] : null);
    const input = options
      ? element("select", { id }, ...options.map((name) => element("option", { value: name }, name)))
      : element("input", { id, type: "number", step: "any" });
    input.addEventListener("change", () => {
      let value = parameter.switch ? input.value === "true" : input.value;
      if (!options) value = Number(input.value);
      this.hooks.setParameter(parameter.name, value);
    });
    this.inputs[parameter.name] = { input };
    const range = parameter.interval ? `, in ${parameter.interval}` : "";
    const label = element("label", { for: id, title: parameter.help + range }, parameter.symbol);
    return element("div", { class: "field" }, label, input);
  }

  #show(parameter, value, given) {
    const { input, output } = this.inputs[parameter.name];
    const text = value === "inf" ? "∞" : parameter.name === "beta" ? short(value) : String(value);
    input.title = given ? "your value" : parameter.source;
    if (!output) {
      if (document.activeElement !== input) input.value = String(value);
      return;
    }
    output.textContent = text;
    output.classList.toggle("changed", given);
    input.setAttribute("aria-valuetext", text);
  }

  // Values from the server: they may be defaults that follow from others.
  update(controls) {
    this.controls = controls;
    this.caution.textContent = controls.caution;
    for (const parameter of controls.parameters) {
      const { input } = this.inputs[parameter.name];
      if (parameter.stops && document.activeElement !== input) {
        input.value = parameter.stops.indexOf(parameter.value);
      }
      this.#show(parameter, parameter.value, parameter.source === "given");
    }
  }

  draw(picture, at, chosen, range) {
    const { layout, states } = picture.mdp;
    const take = (name) => picture.arrays[name + this.index].subarray(at * states, (at + 1) * states);
    this.figures.classList.toggle("strip", layout.length === 1);
    const values = { visits: take("visits"), norm: take("norm"), bonus: take("bonus") };
    this.maps.visits.draw(layout, values.visits, chosen, range);
    const words = [`${short(values.visits[chosen])} visits per run`];
    if (this.controls.quantity) {
      this.maps.norm.draw(layout, values.norm, chosen);
      words.push(`${this.controls.quantity} ${short(values.norm[chosen])}`);
    }
    if (this.controls.has_bonus) {
      this.maps.bonus.draw(layout, values.bonus, chosen);
      words.push(`bonus ${short(values.bonus[chosen])}`);
    }
    if (this.controls.has_sr) this.drawRow(picture.mdp, chosen);
    const alike = picture.arrays["alike" + this.index][at];
    const rank = Number.isNaN(alike) ? "" : ` Over all states, the ranks of norm and visits correlate at ${alike.toFixed(2)}.`;
    this.reading.textContent = `State ${chosen}: ${words.join(", ")}.${rank}`;
  }

  // Rows of another world are not shown; those of another setting are, until their own are here.
  drawRow({ layout, states }, chosen) {
    this.#name("row", `row of the SR of state ${chosen} (expected visits)`);
    if (this.sr?.length !== states * states) this.sr = new Float32Array(states * states).fill(NaN);
    this.maps.row.draw(layout, this.sr.subarray(chosen * states, (chosen + 1) * states), chosen);
  }
}

// One range of colours for the visits of all agents.
export function visitRange(picture, at) {
  const { states } = picture.mdp;
  const all = picture.columns.flatMap((_, i) =>
    Array.from(picture.arrays["visits" + i].subarray(at * states, (at + 1) * states)),
  );
  return ends(all);
}

function signature(controls) {
  const ranges = controls.parameters.map((p) => [p.name, p.stops?.length, p.stops?.at(-1)]);
  return JSON.stringify([controls.agent, ranges]);
}
