// Guided tours of about three minutes: each stop sets the page and says what to look at.

import { element } from "./words.js";

export const TOURS = [
  {
    title: "Why ε-greedy fails in RiverSwim",
    stops: [
      { setting: "env=riverswim&agent=sarsa", text: "todo" },
    ],
    question: "todo",
  },
];

export class Guide {
  constructor(nav, place, apply) {
    this.place = place;
    this.apply = apply;
    nav.append(element("span", {}, "Tours of three minutes:"));
    TOURS.forEach((tour) => {
      const button = element("button", { type: "button", onclick: () => this.#start(tour, button) }, tour.title);
      nav.append(button);
    });
  }

  #start(tour, button) {
    this.tour = tour;
    this.button = button;
    this.#go(0);
    this.place.hidden = false;
  }

  #go(at) {
    const { stops, title, question } = this.tour;
    const last = at === stops.length;
    if (!last) this.apply(stops[at].setting);
    const heading = element("h2", { id: "tour-title", tabindex: -1 }, `${title} (${Math.min(at + 1, stops.length + 1)} of ${stops.length + 1})`);
    const buttons = element("div", { class: "buttons" });
    if (at > 0) buttons.append(element("button", { type: "button", onclick: () => this.#go(at - 1) }, "Back"));
    if (!last) buttons.append(element("button", { type: "button", class: "primary", onclick: () => this.#go(at + 1) }, "Next"));
    buttons.append(element("button", { type: "button", onclick: () => this.#end() }, last ? "Close and try it" : "Leave the tour"));
    this.place.replaceChildren(heading, element("p", {}, last ? question : stops[at].text), buttons);
    heading.focus({ preventScroll: at > 0 });
  }

  #end() {
    this.place.hidden = true;
    this.button.focus();
  }
}
