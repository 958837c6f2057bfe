"use strict";
// Sorts a table by the column whose heading is pressed.
for (const table of document.querySelectorAll("table.sortable")) {
  table.querySelectorAll("thead th").forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const descending = heading.getAttribute("aria-sort") !== "descending";
      const key = (row) => {
        const cell = row.children[column];
        return cell === undefined ? "" : cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
      };
      const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
      const rows = [...table.tBodies[0].rows].sort((a, b) => compare(key(a), key(b)) * (descending ? -1 : 1));
      table.tBodies[0].append(...rows);
      for (const other of heading.parentNode.children) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    });
  });
}
// Stretches all charts along the time.
let factor = 1;
for (const chart of document.querySelectorAll(".chart")) {
  const zoom = document.createElement("div");
  zoom.className = "zoom";
  for (const [text, name, next] of [["\u2212", "Show more time", () => factor / 2], ["+", "Magnify the time", () => factor * 2]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.setAttribute("aria-label", name);
    button.addEventListener("click", () => {
      factor = Math.min(64, Math.max(1, next()));
      for (const plot of document.querySelectorAll(".plot")) plot.style.setProperty("--zoom", factor);
    });
    zoom.append(button);
  }
  chart.before(zoom);
}
