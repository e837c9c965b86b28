// Drawing that the plots share: sharp canvases, the colours of the style sheet, axes, the tooltip.
"use strict";

const $ = (selector) => document.querySelector(selector);

/** A new element with a class, text and children. */
function element(tag, { text, className, children = [] } = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  made.append(...children);
  return made;
}

/** The colours in use: light, dark or print. */
function colours() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(
    ["card", "ink", "soft", "line", "grid", "accent", "transfer", "dot", "wait", "hatch", "wait-full", "life", "select"].map((name) => [
      name,
      style.getPropertyValue(`--${name}`).trim(),
    ]),
  );
}

/** Pixels of the device per pixel of the page; paper has more. */
function density() {
  const printing = document.documentElement.classList.contains("printing");
  return Math.max(window.devicePixelRatio || 1, printing ? 3 : 1);
}

/** Give the canvas its height and all pixels of the device; returns a context in pixels of the page, and the width. */
function prepare(canvas, height) {
  const width = Math.max(50, canvas.parentElement.clientWidth);
  const scale = density();
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return { context, width, scale };
}

/** A hatched fill for time spent waiting. */
function hatched(context, palette, scale) {
  const side = 6;
  const tile = document.createElement("canvas");
  tile.width = tile.height = Math.round(side * scale);
  const drawing = tile.getContext("2d");
  drawing.scale(tile.width / side, tile.width / side);
  drawing.fillStyle = palette.wait;
  drawing.fillRect(0, 0, side, side);
  drawing.strokeStyle = palette.hatch;
  drawing.lineWidth = 0.9;
  for (const shift of [-side, 0, side]) {
    drawing.beginPath();
    drawing.moveTo(shift - 1, side + 1);
    drawing.lineTo(shift + side + 1, -1);
    drawing.stroke();
  }
  const pattern = context.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix([1 / scale, 0, 0, 1 / scale, 0, 0]));
  return pattern;
}

/** Put labels at their places, in pixels, along the axis; those at the ends stay inside. */
function labelAxis(axis, width, labels) {
  const half = (text) => 3.2 * text.length;
  axis.replaceChildren(
    ...labels.map(({ x, text }) => {
      const label = element("span", { text, className: x < half(text) ? "first" : x > width - half(text) ? "last" : "" });
      label.style.left = `${x}px`;
      return label;
    }),
  );
}

/** Show the tooltip beside the pointer: a bold first line, then lines of text or pairs. */
function showTip(event, title, lines) {
  const tip = $("#tip");
  const line = (content) =>
    typeof content === "string"
      ? element("div", { text: content })
      : element("div", {
          className: content.here ? "here" : "",
          children: [element("span", { text: content.name }), element("span", { text: content.value })],
        });
  tip.replaceChildren(element("b", { text: title }), ...lines.map(line));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = event.clientX + 16 + width > window.innerWidth ? event.clientX - width - 12 : event.clientX + 16;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, window.innerHeight - height - 8))}px`;
}

function hideTip() {
  $("#tip").hidden = true;
}
