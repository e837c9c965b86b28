// The yields: one line a policy, one dot an application, packed beside each other where they would overlap; and the bound.
"use strict";

class Yields {
  constructor(data, select) {
    this.data = data;
    this.canvas = $("#yield-dots");
    this.bound = $("#yields .bound");
    this.selected = 0;
    this.followed = null;
    this.height = 40;
    this.radius = data.applications.length <= 30 ? 4.5 : data.applications.length <= 150 ? 3.4 : 2.2;
    this.low = this.lowest();
    this.makeNames(select);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.follow(null));
    $("#numbers").addEventListener("toggle", () => this.makeNumbers(), { once: true });
  }

  /** Where the axis begins: a round yield below all. */
  lowest() {
    const least = this.data.policies.reduce((low, policy) => policy.yields.reduce((a, b) => Math.min(a, b), low), 1);
    const step = least > 0.9 ? 0.02 : 0.1;
    return Math.max(0, Math.min(1 - step, (Math.ceil(least / step) - 1) * step));
  }

  makeNames(select) {
    $("#yield-names").replaceChildren(
      ...this.data.policies.map((policy, index) => {
        const button = element("button", { text: policy.name });
        button.type = "button";
        button.addEventListener("click", () => select(index));
        const row = element("div", { className: "row", children: [button] });
        row.style.height = `${this.height}px`;
        return row;
      }),
    );
  }

  /** The yields as a table, made when it is first opened. */
  makeNumbers() {
    const { policies, applications } = this.data;
    const head = element("tr", { children: ["application", ...policies.map((p) => p.name)].map((text) => element("th", { text })) });
    const rows = applications.map((application, index) =>
      element("tr", {
        children: [element("th", { text: application.name }), ...policies.map((p) => element("td", { text: p.yields[index].toFixed(4) }))],
      }),
    );
    const table = element("table", { children: [element("thead", { children: [head] }), element("tbody", { children: rows })] });
    $("#numbers .scroll").replaceChildren(table);
  }

  choose(selected) {
    this.selected = selected;
    [...$("#yield-names").children].forEach((row, index) => row.classList.toggle("selected", index === selected));
    this.draw();
  }

  x(value) {
    return 10 + ((value - this.low) / (1 - this.low)) * (this.width - 20);
  }

  /** The places of a policy's dots: sorted by yield, each on the free line nearest the middle. */
  place(yields, middle) {
    const apart = 2 * this.radius + 0.6;
    const most = Math.max(1, Math.floor((this.height - 8) / apart));
    const lines = new Array(most).fill(-Infinity);
    const places = new Array(yields.length);
    const order = yields.map((_, index) => index).sort((a, b) => yields[a] - yields[b]);
    for (const index of order) {
      const x = this.x(yields[index]);
      let line = lines.findIndex((last) => x - last >= apart);
      if (line < 0) line = lines.indexOf(Math.min(...lines));
      lines[line] = x;
      places[index] = { x, y: middle + (line % 2 ? 1 : -1) * Math.ceil(line / 2) * apart };
    }
    return places;
  }

  draw() {
    const { policies } = this.data;
    const { context, width } = prepare(this.canvas, this.height * policies.length);
    this.width = width;
    this.places = policies.map((policy, index) => this.place(policy.yields, (index + 0.5) * this.height));
    const palette = colours();
    this.drawGrid(context, palette);
    policies.forEach((policy, index) => this.drawPolicy(context, palette, policy.yields, index));
    if (this.followed !== null) this.drawFollowed(context, palette);
    if (this.bound !== null) this.placeBound();
  }

  /** The line through all policies at the bound on the min-yield; its label stays inside the plot. */
  placeBound() {
    const label = this.bound.firstElementChild;
    const x = this.x(Number(this.bound.dataset.value));
    this.bound.hidden = false;
    this.bound.style.left = `${x}px`;
    const half = label.offsetWidth / 2;
    label.className = x < half ? "first" : x > this.width - half ? "last" : "";
  }

  drawGrid(context, palette) {
    const step = roundStep((1 - this.low) / 10);
    const ticks = multiples(this.low, 1, step);
    context.fillStyle = palette.select;
    context.fillRect(0, this.selected * this.height, this.width, this.height);
    context.fillStyle = palette.line;
    for (const tick of ticks) context.fillRect(Math.round(this.x(tick)), 0, 1, this.height * this.data.policies.length);
    const labels = ticks.map((tick) => ({ x: this.x(tick), text: String(Number(tick.toFixed(6))) }));
    labelAxis($("#yields .axis"), this.width, labels);
  }

  drawPolicy(context, palette, yields, index) {
    const chosen = index === this.selected;
    const sorted = [...yields].sort((a, b) => a - b);
    const half = sorted.length / 2;
    const median = (sorted[Math.floor(half - 0.5)] + sorted[Math.floor(half)]) / 2;
    context.fillStyle = chosen ? palette.accent : palette.dot;
    context.globalAlpha = 0.75;
    for (const { x, y } of this.places[index]) {
      context.beginPath();
      context.arc(x, y, this.radius, 0, 7);
      context.fill();
    }
    context.globalAlpha = 1;
    context.fillStyle = palette.ink;
    const top = index * this.height;
    context.fillRect(this.x(sorted[0]) - 1, top + 5, 2, this.height - 10);
    context.globalAlpha = 0.45;
    context.fillRect(this.x(median) - 0.75, top + 9, 1.5, this.height - 18);
    context.globalAlpha = 1;
  }

  /** The application under the pointer, in all policies. */
  drawFollowed(context, palette) {
    const path = this.places.map((places) => places[this.followed]);
    context.strokeStyle = context.fillStyle = palette["wait-full"];
    context.lineWidth = 1.5;
    context.beginPath();
    path.forEach(({ x, y }) => context.lineTo(x, y));
    context.stroke();
    for (const { x, y } of path) {
      context.beginPath();
      context.arc(x, y, this.radius + 1.5, 0, 7);
      context.fill();
    }
  }

  /** Follow the application whose dot is nearest the pointer, if one is near. */
  point(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const line = Math.min(this.places.length - 1, Math.max(0, Math.floor(y / this.height)));
    let nearest = null;
    let least = 14 ** 2;
    this.places[line].forEach((place, index) => {
      const distance = (place.x - x) ** 2 + (place.y - y) ** 2;
      if (distance < least) [nearest, least] = [index, distance];
    });
    this.follow(nearest);
    if (nearest === null) return;
    const lines = this.data.policies.map((policy, index) => ({
      name: policy.name,
      value: policy.yields[nearest].toFixed(4),
      here: index === line,
    }));
    showTip(event, this.data.applications[nearest].name, lines);
  }

  follow(application) {
    if (application === null) hideTip();
    if (application === this.followed) return;
    this.followed = application;
    this.draw();
  }
}
