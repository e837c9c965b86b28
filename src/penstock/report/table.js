// The table of policies: sorting by its headings, and the row of the selected policy.
"use strict";

/** Sort the policies; the bound is in the foot of the table and stays last. */
function sortTable(table, column, direction) {
  const body = table.tBodies[0];
  const value = (row) => row.cells[column].dataset.value;
  const compare = column === 0 ? (a, b) => a.localeCompare(b) : (a, b) => Number(a) - Number(b);
  const sign = direction === "ascending" ? 1 : -1;
  body.append(...[...body.rows].sort((a, b) => sign * compare(value(a), value(b))));
  [...table.tHead.rows[0].cells].forEach((cell, index) => {
    if (index === column) cell.setAttribute("aria-sort", direction);
    else cell.removeAttribute("aria-sort");
  });
}

/** Let headings sort: the best of an objective first, then the other way round. */
function sortable(table) {
  [...table.tHead.rows[0].cells].forEach((cell, column) => {
    const button = cell.querySelector("button");
    const first = "descending" in button.dataset ? "descending" : "ascending";
    const second = first === "ascending" ? "descending" : "ascending";
    button.addEventListener("click", () => sortTable(table, column, cell.getAttribute("aria-sort") === first ? second : first));
  });
}

/** Mark the row of the selected policy. */
function markRow(table, selected) {
  for (const button of table.querySelectorAll("[data-policy]")) {
    const here = Number(button.dataset.policy) === selected;
    button.closest("tr").classList.toggle("selected", here);
    button.setAttribute("aria-pressed", String(here));
  }
}
