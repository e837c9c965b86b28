// The span of time on show, and all that moves it: buttons, keys, wheel, dragging.
"use strict";

class Span {
  constructor(begin, end, shortest, changed) {
    this.whole = [begin, end];
    [this.from, this.to] = this.whole;
    this.shortest = Math.min(shortest, this.to - this.from);
    this.changed = changed;
  }

  get length() {
    return this.to - this.from;
  }

  get isWhole() {
    return this.from === this.whole[0] && this.to === this.whole[1];
  }

  /** Show `length` seconds from a date on, kept inside the whole. */
  show(from, length) {
    const [begin, end] = this.whole;
    const kept = Math.min(Math.max(length, this.shortest), end - begin);
    this.from = Math.max(begin, Math.min(from, end - kept));
    this.to = kept === end - begin ? end : this.from + kept;
    this.changed();
  }

  /** Make the span `factor` times as long; the date at `part` of its width stays where it is. */
  zoom(factor, part = 0.5) {
    const length = Math.min(Math.max(this.length * factor, this.shortest), this.whole[1] - this.whole[0]);
    this.show(this.from + part * (this.length - length), length);
  }

  move(part) {
    this.show(this.from + part * this.length, this.length);
  }

  act(name) {
    const actions = {
      in: () => this.zoom(0.5),
      out: () => this.zoom(2),
      left: () => this.move(-0.25),
      right: () => this.move(0.25),
      reset: () => this.show(this.whole[0], Infinity),
    };
    actions[name]();
  }

  /** The name of the action that a key stands for, if any. */
  static action(key) {
    return { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "reset", Home: "reset" }[key];
  }

  /** Let the wheel, keys and dragging on a canvas move the span. */
  control(canvas) {
    canvas.addEventListener("wheel", (event) => this.wheel(event, canvas), { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : Span.action(event.key);
      if (!action) return;
      event.preventDefault();
      this.act(action);
    });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      this.held = event.clientX;
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!canvas.hasPointerCapture(event.pointerId)) return;
      this.move((this.held - event.clientX) / canvas.clientWidth);
      this.held = event.clientX;
    });
  }

  /** The wheel zooms at the pointer and sideways it moves; where there is nothing left to zoom out of, the page scrolls. */
  wheel(event, canvas) {
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
      event.preventDefault();
      this.move((event.deltaX || event.deltaY) / canvas.clientWidth);
      return;
    }
    if (event.deltaY > 0 && this.isWhole) return;
    event.preventDefault();
    const pixels = event.deltaMode === 0 ? event.deltaY : 30 * event.deltaY;
    const part = (event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth;
    this.zoom(Math.exp(Math.max(-1, Math.min(1, pixels / 400))), part);
  }
}
