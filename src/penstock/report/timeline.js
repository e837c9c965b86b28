// Bandwidth in use and, row by row, who held it, over the same span of time.
"use strict";

const USE_HEIGHT = 84;

class Timeline {
  constructor(data) {
    this.data = data;
    this.use = $("#use");
    this.gantt = $("#gantt");
    this.names = $("#row-names");
    const count = data.rows.length;
    this.rowHeight = count <= 12 ? 30 : count <= 30 ? 22 : count <= 60 ? 16 : 13;
    const shortest = data.bins ? 20 * data.bins.seconds : (data.end - data.begin) * 1e-6;
    this.span = new Span(data.begin, data.end, shortest, () => this.redraw());
    this.rates = new Map();
    this.byYield = false;
    for (const canvas of [this.use, this.gantt]) {
      this.span.control(canvas);
      canvas.addEventListener("pointermove", (event) => this.point(event));
      canvas.addEventListener("pointerleave", () => this.leave());
    }
  }

  choose(selected) {
    this.selected = selected;
    this.policy = this.data.policies[selected];
    if (!this.rates.has(selected)) this.rates.set(selected, this.decoded());
    [this.current, this.total] = this.rates.get(selected);
    this.arrange();
  }

  decoded() {
    const { bins, begin, rows } = this.data;
    const { gantt, use } = this.policy;
    return [bins ? new Means(gantt, bins, begin) : new Segments(gantt, rows.length), new Use(use)];
  }

  /** Put the rows in order and name them. */
  arrange() {
    const { rows, applications } = this.data;
    const { yields } = this.policy;
    this.order = rows.map((_, row) => row);
    if (this.byYield) this.order.sort((a, b) => yields[rows[a]] - yields[rows[b]]);
    this.names.style.fontSize = this.rowHeight < 16 ? "10.5px" : "";
    this.names.replaceChildren(
      ...this.order.map((row) => {
        const { name } = applications[rows[row]];
        const label = element("span", { text: name, className: "name" });
        label.title = name;
        const made = element("div", { className: "row", children: [label, element("span", { text: yields[rows[row]].toFixed(2) })] });
        made.style.height = `${this.rowHeight}px`;
        return made;
      }),
    );
    const what = `under ${this.policy.name}, ${rows.length} applications`;
    this.gantt.setAttribute("aria-label", `Transfers and waiting over time ${what}; arrow keys move, plus and minus zoom, 0 shows all`);
    this.use.setAttribute("aria-label", `Part of the bandwidth in use over time ${what}`);
    this.redraw();
  }

  /** Draw with the next frame, however often asked. */
  redraw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this.draw();
    });
  }

  draw() {
    this.palette = colours();
    this.width = Math.max(50, this.gantt.parentElement.clientWidth);
    this.drawAxes();
    this.drawUse();
    this.drawRows();
  }

  x(date) {
    return ((date - this.span.from) / this.span.length) * this.width;
  }

  date(x) {
    return this.span.from + (x / this.width) * this.span.length;
  }

  drawAxes() {
    const { from, to, length } = this.span;
    const step = timeStep(length, Math.max(2, this.width / 110));
    this.ticks = multiples(from, to, step);
    const labels = this.ticks.map((tick) => ({ x: this.x(tick), text: dateText(tick, step, 2) }));
    for (const axis of document.querySelectorAll("#timeline .axis")) labelAxis(axis, this.width, labels);
    const grain = step >= 60 ? 1 : step / 100;
    $("#range").value = this.span.isWhole
      ? `all of ${durationText(length)}`
      : `${dateText(from, grain)} – ${dateText(to, grain)} (${durationText(length)})`;
  }

  drawGrid(context, height) {
    context.fillStyle = this.palette.grid;
    for (const tick of this.ticks) context.fillRect(Math.round(this.x(tick)), 0, 1, height);
  }

  /** The part of B in use: in each pixel of the device the mean over its time. */
  drawUse() {
    const { context, width, scale } = prepare(this.use, USE_HEIGHT);
    const top = 8;
    const full = USE_HEIGHT - top;
    this.drawGrid(context, USE_HEIGHT);
    context.fillStyle = this.palette.transfer;
    context.globalAlpha = 0.8;
    const pixel = 1 / scale;
    for (let x = 0; x < width; x += pixel) {
      const height = (this.total.mean(this.date(x), this.date(x + pixel)) / this.data.bandwidth) * full;
      context.fillRect(x, USE_HEIGHT - height, pixel, height);
    }
    context.globalAlpha = 1;
    context.fillStyle = this.palette.soft;
    for (let x = 0; x < width; x += 6) context.fillRect(x, top - 1, 3, 1);
    context.fillStyle = this.palette.line;
    context.fillRect(0, USE_HEIGHT - 1, width, 1);
  }

  drawRows() {
    const height = this.rowHeight * this.order.length;
    const { context, scale } = prepare(this.gantt, height + 1);
    this.drawGrid(context, height);
    this.hatch = hatched(context, this.palette, scale);
    this.order.forEach((row, line) => {
      const top = line * this.rowHeight;
      this.drawLife(context, row, top);
      if (this.data.bins) this.drawMeans(context, row, top, scale);
      else this.drawSegments(context, row, top, scale);
    });
    context.fillStyle = this.palette.line;
    context.fillRect(0, height, this.width, 1);
  }

  /** A thin line from the start to the end of the application. */
  drawLife(context, row, top) {
    const index = this.data.rows[row];
    const from = Math.max(0, this.x(this.data.applications[index].start));
    const to = Math.min(this.width, this.x(this.policy.ends[index] ?? this.policy.end));
    context.fillStyle = this.palette.life;
    context.fillRect(from, top + this.rowHeight - 1, Math.max(0, to - from), 1);
  }

  /** Bars as high as the rate is to the cap; what is narrower than a pixel of the device is as faint as it is short. */
  drawSegments(context, row, top, scale) {
    const { from, to } = this.span;
    const cap = this.data.applications[this.data.rows[row]].cap;
    const count = Math.ceil(this.width * scale);
    const [busy, share, wait] = [new Float32Array(count), new Float32Array(count), new Float32Array(count)];
    this.current.visit(row, from, to, (begin, end, rate) => {
      const [left, right] = [Math.max(0, this.x(begin) * scale), Math.min(count, this.x(end) * scale)];
      for (let column = Math.floor(left); column < right; column += 1) {
        const part = Math.min(right, column + 1) - Math.max(left, column);
        if (rate > 0) {
          busy[column] += part;
          share[column] += (part * rate) / cap;
        } else wait[column] += part;
      }
    });
    this.drawColumns(context, top, scale, { busy, share, wait });
  }

  /** Draw columns one pixel of the device wide, those alike in one piece. */
  drawColumns(context, top, scale, { busy, share, wait }) {
    const full = this.rowHeight - 3;
    const base = top + this.rowHeight - 1;
    const alike = (a, b) => Math.abs(busy[a] - busy[b]) < 1e-3 && Math.abs(share[a] - share[b]) < 1e-3 && Math.abs(wait[a] - wait[b]) < 1e-3;
    for (let first = 0, next; first < busy.length; first = next) {
      next = first + 1;
      while (next < busy.length && alike(first, next)) next += 1;
      const [x, width] = [first / scale, (next - first) / scale];
      if (wait[first] > 0) {
        context.globalAlpha = Math.min(1, wait[first]);
        context.fillStyle = this.hatch;
        context.fillRect(x, base - full, width, full);
      }
      if (busy[first] > 0) {
        context.globalAlpha = Math.max(0.2, Math.min(1, busy[first]));
        context.fillStyle = this.palette.transfer;
        const height = Math.max(1, (full * share[first]) / busy[first]);
        context.fillRect(x, base - height, width, height);
      }
    }
    context.globalAlpha = 1;
  }

  /** Two bands a row: the darker, the more was transferred above, and the more was waited below. */
  drawMeans(context, row, top, scale) {
    const full = this.rowHeight - 3;
    const upper = Math.round(full * 0.62);
    const visible = (shade) => (shade > 0 ? 0.1 + 0.9 * shade : 0);
    const snap = (x) => Math.round(x * scale) / scale;
    this.current.visit(row, this.span.from, this.span.to, (begin, end, rate, waiting) => {
      const x = snap(this.x(begin));
      const width = snap(this.x(end)) - x;
      context.globalAlpha = visible(rate);
      context.fillStyle = this.palette.transfer;
      context.fillRect(x, top + 2, width, upper);
      context.globalAlpha = visible(waiting);
      context.fillStyle = this.palette["wait-full"];
      context.fillRect(x, top + 2 + upper, width, full - upper);
    });
    context.globalAlpha = 1;
  }

  point(event) {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    const x = event.clientX - left;
    const line = Math.floor((event.clientY - top) / this.rowHeight);
    const cursor = $("#timeline .cursor");
    cursor.hidden = false;
    cursor.style.left = `${x}px`;
    const inRows = event.currentTarget === this.gantt && line >= 0 && line < this.order.length;
    [...this.names.children].forEach((name, index) => name.classList.toggle("pointed", inRows && index === line));
    if (inRows) this.tellRow(event, this.order[line], this.date(x));
    else if (event.currentTarget === this.use) this.tellUse(event, this.date(x));
  }

  leave() {
    hideTip();
    $("#timeline .cursor").hidden = true;
    for (const name of this.names.children) name.classList.remove("pointed");
  }

  /** The text of a stretch of time, to a thousandth of its length or of the span. */
  stretchText(begin, end) {
    const grain = Math.min(1, roundStep(Math.max(end - begin, this.span.length * 1e-3) / 1000));
    return `${dateText(begin, grain)} – ${dateText(end, grain)} (${durationText(end - begin)})`;
  }

  tellUse(event, date) {
    const step = this.total.step(date);
    const [begin, end] = [this.total.dates[step], this.total.dates[step + 1]];
    const rate = this.total.rate[step];
    const what = this.data.bins ? "on average " : "";
    showTip(event, "Bandwidth in use", [`${what}${rateText(rate)}, ${percent(rate / this.data.bandwidth)} of all`, this.stretchText(begin, end)]);
  }

  tellRow(event, row, date) {
    const index = this.data.rows[row];
    const application = this.data.applications[index];
    const found = this.current.at(row, date);
    const end = this.policy.ends[index] ?? this.policy.end;
    const begin = found.begin ?? application.start;
    let lines;
    if (date < application.start) lines = ["not started"];
    else if (date > end) lines = ["ended"];
    else if (this.data.bins) lines = this.meanLines(application, found);
    else lines = [this.stateText(application, found.rate), this.stretchText(begin, found.end ?? end)];
    showTip(event, application.name, lines);
  }

  stateText(application, rate) {
    if (rate === null) return "working";
    if (rate === 0) return "waiting for bandwidth";
    return `transferring at ${rateText(rate)}, ${percent(rate / application.cap)} of what it can use`;
  }

  meanLines(application, { begin, end, rate, waiting }) {
    return [
      `mean rate ${rateText(rate * application.cap)}, ${percent(rate)} of what it can use`,
      `waiting ${percent(waiting)} of the time`,
      this.stretchText(begin, end),
    ];
  }
}
