"use strict";

/* Names in code stay on one line where they are short, and are broken where they are long; the lines of drawings meet. */
(function () {
  const SHORT = 24, // characters, which fit beside each other on a telephone
    SHORT_IN_TABLE = 16;
  for (const code of document.querySelectorAll(".rst-content :not(pre) > code:not(.doc-heading code)")) {
    const length = code.textContent.length;
    if (!code.closest(".table-box")) code.classList.toggle("name", length <= SHORT);
    else if (length > SHORT_IN_TABLE && code.childElementCount === 0) {
      code.classList.add("long");
      code.replaceChildren(...code.textContent.split(/(?<=[._/=,(])/).flatMap((part) => [part, document.createElement("wbr")]));
    }
  }
  for (const text of document.querySelectorAll(".rst-content pre")) if (/[│┃]/.test(text.textContent)) text.classList.add("drawn");
})();

/* Search that needs no server: the index comes as a script, which a page opened from a file may load. */

(function () {
  const results = document.getElementById("mkdocs-search-results");
  const input = document.getElementById("mkdocs-search-query");
  if (!results || !input) return;

  const MOST = 40;
  const AROUND = 110; // characters shown on each side of a hit

  const script = document.createElement("script");
  script.src = base_url + "/search/search_index.js";
  script.onload = start;
  document.head.append(script);

  function start() {
    for (const entry of window.searchIndex) {
      entry.title_ = entry.title.toLowerCase();
      entry.text_ = entry.text.toLowerCase();
    }
    input.value = new URLSearchParams(window.location.search).get("q") || "";
    input.addEventListener("input", show);
    show();
  }

  /* Every word must occur. A hit in the title counts most, and guides count more than the reference. */
  function score(entry, words, phrase) {
    let sum = 0;
    for (const word of words) {
      const inTitle = entry.title_.includes(word);
      if (!inTitle && !entry.text_.includes(word)) return 0;
      sum += inTitle ? 20 : 1;
    }
    if (entry.title_ === phrase) sum += 100;
    if (entry.title_.includes(phrase)) sum += 20;
    if (entry.text_.includes(phrase)) sum += 5;
    return entry.location.startsWith("reference/") ? sum / 4 : sum;
  }

  function show() {
    const phrase = input.value.trim().toLowerCase();
    const words = phrase.split(/\s+/).filter(Boolean);
    const found = words.length
      ? window.searchIndex
          .map((entry) => ({ entry, value: score(entry, words, phrase) }))
          .filter(({ value }) => value > 0)
          .sort((a, b) => b.value - a.value)
      : [];
    results.replaceChildren(count(found.length, words), ...found.slice(0, MOST).map(({ entry }) => article(entry, words)));
  }

  function count(number, words) {
    const line = document.createElement("p");
    line.className = "count";
    if (words.length === 0) line.textContent = "Type a word or several.";
    else if (number === 0) line.textContent = "Nothing found.";
    else line.textContent = number > MOST ? `${number} places, the first ${MOST} are shown` : `${number} places`;
    return line;
  }

  function article(entry, words) {
    const box = document.createElement("article");
    const heading = document.createElement("h3");
    const link = document.createElement("a");
    link.href = base_url + "/" + entry.location;
    link.textContent = entry.title;
    heading.append(link);
    if (entry.page !== entry.title) {
      const where = document.createElement("span");
      where.className = "where";
      where.textContent = ` · ${entry.page}`;
      heading.append(where);
    }
    const text = document.createElement("p");
    text.append(...excerpt(entry, words));
    box.append(heading, text);
    return box;
  }

  function excerpt(entry, words) {
    const at = Math.max(0, Math.min(...words.map((word) => entry.text_.indexOf(word)).filter((place) => place >= 0)));
    const from = Number.isFinite(at) ? Math.max(0, at - AROUND) : 0;
    const part = entry.text.slice(from, from + 2 * AROUND);
    const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const nodes = part.split(new RegExp(`(${escaped.join("|")})`, "i")).map((piece, index) => {
      if (index % 2 === 0) return piece;
      const mark = document.createElement("mark");
      mark.textContent = piece;
      return mark;
    });
    return [from > 0 ? "… " : "", ...nodes, from + 2 * AROUND < entry.text.length ? " …" : ""];
  }
})();
