// The live page: asks for the state once a second and draws it. Rates are bytes/s, dates seconds of the coordinator's clock.
"use strict";

const SPAN = 120, WIDTH = 960, HEIGHT = 240, FOOT = 18, SHOWN = 200;
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#7f7f7f"];
const ORDER = ["transferring", "waiting", "away", "working"];
const KEPT = 500;  // grants that the coordinator remembers
const steps = new Map();  // of each application, its rates from which date on
const spans = [];  // [from, to]: when rates were observed; nothing is drawn outside

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

function observe(state) {
  // Whether all grants since the last look are known. Else what is observed begins anew.
  const last = spans[spans.length - 1];
  const known = last && state.now >= last[1] && (state.recent.length < KEPT || state.recent[0].now <= last[1]);
  if (known) last[1] = state.now;
  else spans.push([state.now, state.now]);
  while (spans.length && spans[0][1] < state.now - SPAN) spans.shift();
  if (last && state.now < last[1]) { spans.splice(0, spans.length - 1); steps.clear(); }  // another coordinator
  return known;
}

function remember(state) {
  const since = spans.length ? spans[spans.length - 1][1] : Infinity;
  const grants = observe(state) ? state.recent.filter((grant) => grant.now > since) : [];
  const present = new Map(state.applications.map((one) => [one.application, one.rate]));
  for (const number of present.keys()) if (!steps.has(number)) steps.set(number, []);
  for (const grant of grants) {
    if (!steps.has(grant.application)) steps.set(grant.application, []);
    steps.get(grant.application).push({now: grant.now, rate: grant.rate});
  }
  for (const [number, own] of steps) {
    const rate = present.get(number) ?? 0;
    if (!own.length || own[own.length - 1].rate !== rate) own.push({now: state.now, rate});
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
  const all = [begin, ...dates, ...spans.flat(), state.now].filter((date) => date >= begin);
  const edges = [...new Set(all)].sort((a, b) => a - b);
  const observed = (from, to) => spans.some((span) => span[0] <= from && to <= span[1]);
  const floor = new Map(edges.map((date) => [date, 0]));
  const parts = [];
  for (let ago = 0; ago < SPAN; ago += 30) {
    parts.push(shape("line", {x1: x(state.now - ago), x2: x(state.now - ago), y1: 0, y2: plot}));
    parts.push(shape("text", {x: x(state.now - ago) - 4, y: HEIGHT - 4, "text-anchor": "end"}, ago ? `−${ago} s` : "now"));
  }
  for (const number of members) {
    const own = steps.get(number);
    let top = [], bottom = [];
    const finish = () => {
      const attributes = {points: [...top, ...bottom].join(" "), fill: colour(number), "data-application": number};
      if (top.length) parts.push(shape("polygon", attributes));
      top = [];
      bottom = [];
    };
    for (let i = 0; i + 1 < edges.length; i++) {
      if (!observed(edges[i], edges[i + 1])) {
        finish();
        continue;
      }
      const low = floor.get(edges[i]), high = low + rateAt(own, edges[i]);
      for (const date of [edges[i], edges[i + 1]]) {
        top.push(`${x(date).toFixed(1)},${y(high).toFixed(1)}`);
        bottom.unshift(`${x(date).toFixed(1)},${y(low).toFixed(1)}`);
      }
      floor.set(edges[i], high);
    }
    finish();
  }
  at("rates").replaceChildren(...parts);
}

function namer(state) {
  // Jobs of one name are told apart by their numbers.
  const counts = new Map();
  for (const one of state.applications) counts.set(one.job, (counts.get(one.job) ?? 0) + 1);
  return (one) => (counts.get(one.job) > 1 ? `${one.job} (${one.application})` : one.job);
}

function row(one, name_of) {
  const made = element("tr", "", one.state);
  const name = element("td", name_of(one));
  const swatch = element("span", "", "swatch");
  swatch.style.background = colour(one.application);
  name.prepend(swatch);
  const pending = one.pending;
  const done = pending ? `${Math.round(100 * pending.estimated / pending.volume)} % of ${amount(pending.volume, "B")}` : "";
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

function decisions(state, name_of) {
  const made = [];
  for (const grant of [...state.recent].reverse()) {
    const what = `${name_of(grant)} ${grant.rate ? amount(grant.rate, "B/s") : "pauses"}`;
    const last = made[made.length - 1];
    if (last && last.now === grant.now) last.what.unshift(what);
    else made.push({now: grant.now, what: [what]});
  }
  return made.slice(0, 30).map((one) => element("li", `${(state.now - one.now).toFixed(1)} s ago: ${one.what.join(", ")}`));
}

function show(state) {
  const share = state.granted / state.bandwidth, name_of = namer(state);
  at("policy").textContent = state.fault ?? state.policy;
  at("granted").style.width = `${100 * share}%`;
  at("share").textContent = `${amount(state.granted, "B/s")} of ${amount(state.bandwidth, "B/s")}`;
  at("counts").textContent = ORDER.map((name) => `${state.applications.filter((one) => one.state === name).length} ${name}`).join(", ");
  const first = (a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || b.rate - a.rate || a.application - b.application;
  at("applications").replaceChildren(...[...state.applications].sort(first).slice(0, SHOWN).map((one) => row(one, name_of)));
  at("decisions").replaceChildren(...decisions(state, name_of));
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
