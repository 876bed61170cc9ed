// Guided tours of about three minutes: each stop sets the page and says what to look at.
// Numbers in the texts are taken from the picture: {mean 1} is the mean return of the second agent,
// {visits 0 5} the visits of the first in state 5, {alike 0} its correlation of norm and visits.

import { element, short, whole } from "./words.js";

export const TOURS = [
  {
    title: "Why ε-greedy fails in RiverSwim",
    stops: [
      {
        setting: "env=riverswim&agent=sarsa",
        text: "RiverSwim is a river of six states, drawn in a row. On the left bank, s0, going left pays 5 at "
          + "every step. On the right bank, s5, swimming right can pay 10,000, but against the current only about "
          + "three strokes in ten get ahead. Sarsa explores by chance: one action in a hundred is random (ε = 0.01). Look "
          + "at its visits: {visits 0 0} of 5,000 steps in s0, {visits 0 5} in s5. It has collected {mean 0}: 5 at nearly "
          + "every step.",
      },
      {
        setting: "env=riverswim&agent=sarsa&agent=sarsa,epsilon=0.3&agent=sarsa,epsilon=1",
        text: "Would more chance help? Here are ε = 0.01, 0.3 and 1, the last one acting at random throughout. The "
          + "returns are {mean 0}, {mean 1} and {mean 2}. To reach s5, many strokes to the right must follow one "
          + "another, and chance seldom deals them: {visits 0 5}, {visits 1 5} and {visits 2 5} visits per run. Meanwhile every "
          + "random action costs reward on the left bank.",
      },
      {
        setting: "env=riverswim&agent=sarsa,epsilon=0.1,alpha=0.25&agent=sarsa-sr",
        text: "The second agent has the same α and ε, and adds a bonus: β divided by the norm of what it has learned "
          + "of the successor representation (SR) in a state. Where it has seldom been the norm is small and the bonus large, so "
          + "going on to the right is worth something before any reward is found there. Its return is {mean 1}, the other's "
          + "{mean 0}.",
      },
      {
        setting: "env=riverswim&agent=sarsa,epsilon=0.1,alpha=0.25&agent=sarsa-sr&step=300",
        text: "Now the maps are those after 300 steps. Press Play and watch the visits: the agent with the bonus spreads over "
          + "the river and then settles on the right, the other one stays on the left bank.",
      },
    ],
    question: "Try it: choose riverswim-12, a river twice as long. Does the bonus still reach the right bank? Which of β and "
      + "ε do you have to turn, and which way?",
  },
  {
    title: "How the norm counts",
    stops: [
      {
        setting: "env=fourrooms&agent=sarsa-sr&agent=sarsa-counts&step=500",
        text: "The row of the SR of a state says how often every other state is expected to be visited from there, discounted. It "
          + "is learned from zero, a little at every visit. So while it is being learned, its size says how often the state "
          + "has been visited. These are four rooms after 500 steps: compare the map of visits with that of the norm. Over all "
          + "states, their ranks correlate at {alike 0}.",
      },
      {
        setting: "env=fourrooms&agent=sarsa-sr&agent=sarsa-counts",
        text: "After 5,000 steps the correlation is {alike 0}: the norm orders the states as true counts would, and nobody has "
          + "counted. The second agent does count, and its bonus is β/√n. Point at a room: the last map shows the row of the SR of "
          + "the state under the pointer, its own neighbourhood.",
      },
      {
        setting: "env=riverswim&agent=sarsa-sr,eta=0.001&agent=sarsa-sr&agent=sarsa-sr,eta=0.5",
        text: "How long does it count? Here is RiverSwim with three step sizes of the SR: η = 0.001, 0.01 and 0.5. With a large η the "
          + "norm is soon at the end of its road, 1/(1 − γ) = 20 for the default γ of the SR, and then it says nothing about counts any "
          + "more: the correlations are {alike 0}, {alike 1} and {alike 2}, the returns {mean 0}, {mean 1} and {mean 2}. It is "
          + "the road that counts, not its end.",
      },
    ],
    question: "Try it: with sarsa-sr in riverswim, set γ of the SR to 0. Then every row is about its own state only, and the norm forgets "
      + "where one can go from there. What does that cost in return, and which p of the norm makes it better or worse?",
  },
  {
    title: "How β trades off",
    stops: [
      {
        setting: "env=riverswim&agent=sarsa-sr,beta=1&agent=sarsa-sr,beta=100&agent=sarsa-sr,beta=10000",
        text: "β is the price of novelty, in units of reward. Here are β = 1, 100 and 10,000, with rewards up to 10,000. Too little, and most "
          + "runs never leave the left bank ({visits 0 0} of 5,000 steps there); too much, and the agent goes on exploring for its own sake. The "
          + "returns are {mean 0}, {mean 1} and {mean 2}.",
      },
      {
        setting: "env=riverswim&agent=sarsa-sr,beta=1&agent=sarsa-sr,beta=100&agent=sarsa-sr,beta=10000&step=1000",
        text: "The first thousand steps. Look at the bonus below the maps and compare it with what a state pays: 5 on the left bank. A bonus "
          + "far below 5 changes nothing there. Then look at the table: where mean and median are far apart, as for β = 1, few "
          + "runs found the right bank, and they carry the mean.",
      },
      {
        setting: "env=fourrooms&agent=sarsa-sr,beta=0&agent=sarsa-sr&agent=sarsa-sr,beta=0.1",
        text: "In four rooms the only reward is 1, and β must shrink with it: here are 0, the default of 0.001, and 0.1. With 0.1 the agent "
          + "reaches the goal {mean 2} times per run, with 0.001 {mean 1} times: the bonus of wandering is worth more than the goal. And "
          + "with β = 0 it reaches it {mean 0} times, because untried actions look as good as the goal from the start (More "
          + "parameters, initial_value): optimism explores too.",
      },
    ],
    question: "Try it: draw a world (your own drawing) with a reward of 1 near the start and a 9 far away behind walls. Which β makes the "
      + "agent give up the near reward?",
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
    // On most screens the maps begin below the fold; this text stays where it is.
    const maps = () => document.getElementById("columns").scrollIntoView({ block: "end" });
    if (!last) buttons.append(element("button", { type: "button", class: "maps", onclick: maps }, "Show the maps"));
    buttons.append(element("button", { type: "button", onclick: () => this.#end() }, last ? "Close and try it" : "Leave the tour"));
    this.text = element("p");
    this.template = last ? question : stops[at].text;
    this.text.textContent = filled(this.template, () => "…");
    this.place.replaceChildren(heading, this.text, buttons);
    heading.focus({ preventScroll: at > 0 });
  }

  // The numbers of a stop are those of its first complete picture.
  tell(picture, at) {
    if (!this.template || !picture.done) return;
    this.text.textContent = filled(this.template, (what, column, state) => {
      if (what === "mean") return whole(picture.columns[column].summary_of_runs.mean);
      if (what === "visits") return short(picture.arrays[what + column][at * picture.mdp.states + Number(state)]);
      return picture.arrays[what + column][at].toFixed(2);
    });
    this.template = null;
  }

  #end() {
    this.template = null;
    this.place.hidden = true;
    this.button.focus();
  }
}

function filled(template, value) {
  return template.replace(/\{(\w+) (\d)(?: (\d+))?\}/g, (_, what, column, state) => value(what, column, state));
}
