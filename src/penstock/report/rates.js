// The rates of a policy over time, as the page's data has them: exact segments, or means over bins.
"use strict";

function decode(text, Type) {
  return new Type(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
}

/** The first position from `low` to `high` whose value is above `bound`; `values` ascend. */
function firstAbove(values, bound, low, high) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > bound) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** A row's segments of constant rate. */
class Segments {
  constructor(packed, rows) {
    this.begin = decode(packed.begin, Float64Array);
    this.end = decode(packed.end, Float64Array);
    this.rate = decode(packed.rate, Float32Array);
    const row = decode(packed.row, Uint16Array);
    this.first = Array.from({ length: rows + 1 }, (_, index) => firstAbove(row, index - 1, 0, row.length));
  }

  /** Call `visit(begin, end, rate)` for the segments of a row between two dates. */
  visit(row, from, to, visit) {
    const last = this.first[row + 1];
    for (let index = firstAbove(this.end, from, this.first[row], last); index < last && this.begin[index] < to; index += 1) {
      visit(this.begin[index], this.end[index], this.rate[index]);
    }
  }

  /** The segment of a row at a date, or the gap there with no rate. */
  at(row, date) {
    const [first, last] = [this.first[row], this.first[row + 1]];
    const index = firstAbove(this.end, date, first, last);
    if (index < last && this.begin[index] <= date) return { begin: this.begin[index], end: this.end[index], rate: this.rate[index] };
    return { begin: index > first ? this.end[index - 1] : null, end: index < last ? this.begin[index] : null, rate: null };
  }
}

/** A row's means over bins: the rate as a part of its cap, the waiting as a part of the time. */
class Means {
  constructor(packed, bins, begin) {
    this.bins = bins;
    this.origin = begin;
    this.rate = decode(packed.rate, Uint8Array);
    this.waiting = decode(packed.waiting, Uint8Array);
  }

  /** Call `visit(begin, end, rate, waiting)` for the bins of a row, both as shades from 0 to 1. */
  visit(row, from, to, visit) {
    const { count, seconds, steps } = this.bins;
    const last = Math.min(count, Math.ceil((to - this.origin) / seconds));
    for (let bin = Math.max(0, Math.floor((from - this.origin) / seconds)); bin < last; bin += 1) {
      const cell = row * count + bin;
      const begin = this.origin + bin * seconds;
      visit(begin, begin + seconds, this.rate[cell] / steps, this.waiting[cell] / steps);
    }
  }

  /** The means of a row in the bin at a date: a byte is the root of a mean, so that small ones keep more steps. */
  at(row, date) {
    const { count, seconds, steps, largest } = this.bins;
    const bin = Math.max(0, Math.min(count - 1, Math.floor((date - this.origin) / seconds)));
    const begin = this.origin + bin * seconds;
    const cell = row * count + bin;
    return {
      begin,
      end: begin + seconds,
      rate: (this.rate[cell] / steps) ** 2 * largest.rate,
      waiting: (this.waiting[cell] / steps) ** 2 * largest.waiting,
    };
  }
}

/** The sum of all rates: a step function of which the mean between any two dates is exact. */
class Use {
  constructor(packed) {
    this.dates = decode(packed.dates, Float64Array);
    this.rate = decode(packed.rate, Float32Array);
    this.volume = new Float64Array(this.dates.length);
    for (let index = 0; index < this.rate.length; index += 1) {
      this.volume[index + 1] = this.volume[index] + this.rate[index] * (this.dates[index + 1] - this.dates[index]);
    }
  }

  /** The step at a date. */
  step(date) {
    return Math.max(0, Math.min(this.rate.length - 1, firstAbove(this.dates, date, 0, this.dates.length) - 1));
  }

  /** Bytes moved until a date. */
  until(date) {
    const step = this.step(date);
    const last = this.dates[step + 1];
    return this.volume[step] + this.rate[step] * (Math.min(Math.max(date, this.dates[step]), last) - this.dates[step]);
  }

  mean(from, to) {
    const [first, last] = [this.step(from), this.step(to)];
    return first === last ? this.rate[first] : (this.until(to) - this.until(from)) / (to - from);
  }
}
