// The live page: asks for the state once a second and draws it. Rates are bytes/s, dates seconds of the coordinator's clock.
"use strict";

const SPAN = 120, WIDTH = 960, HEIGHT = 240, FOOT = 18, SHOWN = 200;
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#7f7f7f"];
const ORDER = ["transferring", "waiting", "away", "working"];
const steps = new Map();  // of each application, its rates from which date on

const at = (id) => document.getElementById(id);
const colour = (number) => COLOURS[number % COLOURS.length];

function amount(value, unit) {
  for (const [name, size] of [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (value >= size) return `${Number((value / size).toPrecision(3))} ${name}${unit}`;
  }
  return `${Number(value.toPrecision(3))} ${unit}`;
}

function element(name, text = "", className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function shape(name, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function remember(state) {
  for (const grant of state.recent) {
    if (!steps.has(grant.application)) steps.set(grant.application, []);
    const own = steps.get(grant.application);
    if (!own.length || grant.now > own[own.length - 1].now) own.push({now: grant.now, rate: grant.rate});
  }
  const present = new Map(state.applications.map((one) => [one.application, one.rate]));
  for (const [number, own] of steps) {
    const rate = present.get(number) ?? 0;
    if (own[own.length - 1].rate !== rate) own.push({now: state.now, rate});
    while (own.length > 1 && own[1].now < state.now - SPAN) own.shift();
    if (own.length === 1 && own[0].rate === 0 && !present.has(number)) steps.delete(number);
  }
}

function rateAt(own, date) {
  let rate = 0;
  for (const step of own) {
    if (step.now > date) break;
    rate = step.rate;
  }
  return rate;
}

function draw(state) {
  const begin = state.now - SPAN, plot = HEIGHT - FOOT;
  const x = (date) => ((date - begin) / SPAN) * WIDTH, y = (rate) => plot - (rate / state.bandwidth) * plot;
  const members = [...steps.keys()].sort((a, b) => a - b);
  const dates = [...new Set(members.flatMap((number) => steps.get(number).map((step) => step.now)))];
  const edges = [begin, ...dates.filter((date) => date > begin).sort((a, b) => a - b), state.now];
  const floor = new Map(edges.map((date) => [date, 0]));
  const parts = [];
  for (let ago = 0; ago < SPAN; ago += 30) {
    parts.push(shape("line", {x1: x(state.now - ago), x2: x(state.now - ago), y1: 0, y2: plot}));
    parts.push(shape("text", {x: x(state.now - ago) - 4, y: HEIGHT - 4, "text-anchor": "end"}, ago ? `−${ago} s` : "now"));
  }
  for (const number of members) {
    const own = steps.get(number), top = [], bottom = [];
    for (let i = 0; i + 1 < edges.length; i++) {
      const low = floor.get(edges[i]), high = low + rateAt(own, edges[i]);
      for (const date of [edges[i], edges[i + 1]]) {
        top.push(`${x(date).toFixed(1)},${y(high).toFixed(1)}`);
        bottom.unshift(`${x(date).toFixed(1)},${y(low).toFixed(1)}`);
      }
      floor.set(edges[i], high);
    }
    parts.push(shape("polygon", {points: [...top, ...bottom].join(" "), fill: colour(number), "data-application": number}));
  }
  at("rates").replaceChildren(...parts);
}

function row(one) {
  const made = element("tr", "", one.state);
  const name = element("td", one.job);
  const swatch = element("span", "", "swatch");
  swatch.style.background = colour(one.application);
  name.prepend(swatch);
  const pending = one.pending;
  const done = pending ? `${Math.round(100 * pending.moved / pending.volume)} % of ${amount(pending.volume, "B")}` : "";
  const share = element("td");
  const meter = element("meter");
  meter.value = one.yield;
  share.append(meter, ` ${one.yield.toFixed(3)}`);
  made.append(
    name, element("td", one.state), element("td", one.rate ? amount(one.rate, "B/s") : "", "number"), element("td", done),
    element("td", pending ? `${pending.seconds.toFixed(1)} s` : "", "number"), share,
    element("td", amount(one.transferred, "B"), "number"));
  return made;
}

function decisions(state) {
  const made = [];
  for (const grant of [...state.recent].reverse()) {
    const what = `${grant.job} ${grant.rate ? amount(grant.rate, "B/s") : "pauses"}`;
    const last = made[made.length - 1];
    if (last && last.now === grant.now) last.what.unshift(what);
    else made.push({now: grant.now, what: [what]});
  }
  return made.slice(0, 30).map((one) => element("li", `${(state.now - one.now).toFixed(1)} s ago: ${one.what.join(", ")}`));
}

function show(state) {
  const share = state.granted / state.bandwidth;
  at("policy").textContent = state.fault ?? state.policy;
  at("granted").style.width = `${100 * share}%`;
  at("share").textContent = `${amount(state.granted, "B/s")} of ${amount(state.bandwidth, "B/s")}`;
  at("counts").textContent = ORDER.map((name) => `${state.applications.filter((one) => one.state === name).length} ${name}`).join(", ");
  const first = (a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || b.rate - a.rate || a.application - b.application;
  at("applications").replaceChildren(...[...state.applications].sort(first).slice(0, SHOWN).map(row));
  at("decisions").replaceChildren(...decisions(state));
  remember(state);
  draw(state);
}

async function look() {
  try {
    const answer = await fetch("state", {signal: AbortSignal.timeout(5000)});
    show(await answer.json());
    at("trouble").hidden = true;
  } catch (error) {
    at("trouble").textContent = `The coordinator does not answer (${error.message}); applications go on without it.`;
    at("trouble").hidden = false;
  }
  setTimeout(look, 1000);
}

look();
