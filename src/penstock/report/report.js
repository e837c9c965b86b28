// Puts the page together: one selected policy, shown in the table, the yields and the timeline.
"use strict";

/** Colour samples with their meaning, and what was left out. */
function drawLegend(data) {
  const palette = colours();
  const sample = (paint, text) => {
    const canvas = document.createElement("canvas");
    canvas.width = 52;
    canvas.height = 24;
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    paint(context);
    return element("span", { children: [canvas, text] });
  };
  const ramp = (colour) => (context) => {
    const fill = context.createLinearGradient(0, 0, 26, 0);
    fill.addColorStop(0, palette.card);
    fill.addColorStop(1, colour);
    context.fillStyle = fill;
    context.fillRect(0, 0, 26, 12);
  };
  const bars = (context) => {
    context.fillStyle = palette.transfer;
    [12, 8, 4].forEach((height, index) => context.fillRect(index * 9, 12 - height, 8, height));
  };
  const hatch = (context) => {
    context.fillStyle = hatched(context, palette, 2);
    context.fillRect(0, 0, 26, 12);
  };
  const { bins } = data;
  const samples = bins
    ? [
        sample(ramp(palette.transfer), `transferring (darkest: ${percent(bins.largest.rate)} of what it can use)`),
        sample(ramp(palette["wait-full"]), `waiting (darkest: ${percent(bins.largest.waiting)} of the time)`),
        element("span", { text: `drawn as means over ${durationText(bins.seconds)}, shaded by their square root` }),
      ]
    : [sample(bars, "transferring, as high as its rate is to the most it can use"), sample(hatch, "waiting for bandwidth"), "blank: working"];
  const hidden = data.applications.length - data.rows.length;
  if (hidden > 0) {
    const most = `${data.rows.length} of ${data.applications.length.toLocaleString("en")} applications`;
    samples.push(element("span", { text: `${most}, those with the lowest yields under ${data.policies[0].name}` }));
  }
  $("#legend").replaceChildren(...samples);
}

function start() {
  const data = JSON.parse($("#data").textContent);
  const table = $("#policies");
  const picker = $("#policy");
  const timeline = new Timeline(data);
  const yields = new Yields(data, select);

  function select(index) {
    picker.value = String(index);
    markRow(table, index);
    yields.choose(index);
    timeline.choose(index);
  }

  function redraw() {
    drawLegend(data);
    yields.draw();
    timeline.draw();
  }

  function print(on) {
    document.documentElement.classList.toggle("printing", on);
    redraw();
  }

  data.policies.forEach((policy, index) => picker.append(new Option(policy.name, String(index))));
  picker.addEventListener("change", () => select(Number(picker.value)));
  $("#order").addEventListener("change", (event) => {
    timeline.byYield = event.target.value === "yield";
    timeline.arrange();
  });
  sortable(table);
  for (const button of table.querySelectorAll("[data-policy]")) {
    button.addEventListener("click", () => select(Number(button.dataset.policy)));
  }
  for (const button of document.querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => timeline.span.act(button.dataset.view));
  }
  select(0);
  redraw();
  new ResizeObserver(redraw).observe($("#timeline"));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
}

start();
