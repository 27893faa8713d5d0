"use strict";
// The page reads without this script; it adds the theme switch, level toggles, readouts, sorting and lit lines.
(() => {
  const root = document.documentElement;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  for (const box of document.querySelectorAll("input[data-level]")) {
    box.addEventListener("change", () => {
      document.getElementById(box.dataset.chart).classList.toggle(`no-${box.dataset.level}`, !box.checked);
    });
  }
  for (const readout of document.querySelectorAll("[data-readout]")) {
    const chart = document.getElementById(readout.dataset.readout);
    for (const point of chart.querySelectorAll(".point")) {
      point.addEventListener("mouseenter", () => { readout.textContent = point.dataset.words; });
    }
    for (const kernel of chart.querySelectorAll(".kernelpoint")) {
      kernel.addEventListener("focus", () => { readout.textContent = kernel.getAttribute("aria-label"); });
    }
  }
  for (const arc of document.querySelectorAll(".arc")) {
    const lines = [arc.dataset.cause, arc.dataset.waiting].map((id) => document.getElementById(id)).filter(Boolean);
    const light = (on) => lines.forEach((line) => line.classList.toggle("lit", on));
    for (const name of ["mouseenter", "focus"]) arc.addEventListener(name, () => light(true));
    for (const name of ["mouseleave", "blur"]) arc.addEventListener(name, () => light(false));
  }
  const value = (cell) => {
    const number = parseFloat(cell.textContent.replace(/[, ]/g, ""));
    return Number.isNaN(number) ? cell.textContent.trim() : number;
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    table.querySelectorAll("thead th").forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") !== "descending";
        for (const other of table.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => {
          const [x, y] = [value(a.cells[column]), value(b.cells[column])];
          const order = typeof x === typeof y ? (x < y ? -1 : x > y ? 1 : 0) : typeof x === "number" ? 1 : -1;
          return down ? -order : order;
        });
        table.tBodies[0].append(...rows);
      });
    });
  }
  const open = () => {
    const row = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    const details = row && row.querySelector("details");
    if (details) details.open = true;
  };
  addEventListener("hashchange", open);
  open();
})();
