// Amounts and dates as text, and the dates where an axis has its ticks.
"use strict";

const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

/** Bytes per second with three digits: "3.4 GB/s". */
function rateText(rate) {
  const prefixes = ["", "k", "M", "G", "T", "P", "E"];
  let power = 0;
  let rounded = Number(rate.toPrecision(3));
  while (rounded >= 1000 && power < prefixes.length - 1) {
    rate /= 1000;
    power += 1;
    rounded = Number(rate.toPrecision(3));
  }
  return `${rounded} ${prefixes[power]}B/s`;
}

/** A part of one in percent. */
function percent(part) {
  return `${Number((100 * part).toPrecision(3))} %`;
}

/** A date in seconds, to a multiple of `grain` seconds: "1 h 5 min 30 s"; at most `most` units, the smallest that matter. */
function dateText(seconds, grain, most = 4) {
  const decimals = grain < 1 ? Math.min(9, Math.ceil(-Math.log10(grain) - 1e-9)) : 0;
  let rest = Number((Math.round(Math.abs(seconds) / grain) * grain).toFixed(decimals));
  const parts = [];
  const last = UNITS.findIndex(([, size]) => size <= Math.max(1, grain));
  for (const [name, size] of UNITS.slice(0, last + 1)) {
    const count = size === 1 ? rest : Math.floor(rest / size);
    rest = Number((rest - count * size).toFixed(decimals));
    parts.push({ name, count });
  }
  while (parts.length && parts[0].count === 0) parts.shift();
  while (parts.length && parts[parts.length - 1].count === 0) parts.pop();
  if (!parts.length) return `0 ${UNITS[last][0]}`;
  return (seconds < 0 ? "−" : "") + parts.slice(-most).map(({ name, count }) => `${count} ${name}`).join(" ");
}

/** A duration in seconds with three digits and one unit: "2.1 h". */
function durationText(seconds) {
  if (Math.abs(seconds) <= 1e-9) return "0 s"; // rounding, as in units.py
  if (seconds < 1) return seconds < 1e-3 ? `${Number((seconds * 1e6).toPrecision(3))} µs` : `${Number((seconds * 1e3).toPrecision(3))} ms`;
  const [name, size] = UNITS.find(([, size]) => Number(seconds.toPrecision(3)) >= size) || ["s", 1];
  return `${Number((seconds / size).toPrecision(3)).toLocaleString("en")} ${name}`;
}

/** The smallest round step in seconds of which at most `most` fit into the span. */
function timeStep(span, most) {
  const wanted = span / most;
  const round = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
  if (wanted > 30 && wanted <= 86400) return round.find((step) => step >= wanted);
  const unit = wanted > 86400 ? 86400 : 1;
  return wanted > 15 && wanted <= 30 ? 30 : unit * roundStep(wanted / unit);
}

/** The smallest of 1, 2, 5 times a power of ten that is not below `wanted`. */
function roundStep(wanted) {
  const power = 10 ** Math.floor(Math.log10(wanted));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= wanted * (1 - 1e-9));
}

/** The multiples of `step` from `low` to `high`. */
function multiples(low, high, step) {
  const ticks = [];
  for (let count = Math.ceil(low / step - 1e-9); count * step <= high + step * 1e-9; count += 1) ticks.push(count * step);
  return ticks;
}
