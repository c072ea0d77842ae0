/* The overview: sorting of tables, the two readings, and which slices are shown. */
(function (rejudge) {
  "use strict";

  const state = rejudge.state;

  function key(cell, reading) {
    const value = cell.getAttribute("data-" + reading) ?? cell.getAttribute("data-value");
    if (value === null) return cell.textContent.trim().toLowerCase();
    return value === "" ? null : Number(value);
  }

  /* Cells without a value stay last, whichever way the others go. */
  function compare(one, other, sign) {
    if (one === null || other === null) return (one === null) - (other === null);
    if (typeof one === "number" && typeof other === "number") return sign * (one - other);
    return sign * String(one).localeCompare(String(other), undefined, { numeric: true });
  }

  function sort(table, column, direction, reading) {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [key(row.cells[column], reading), row]);
    rows.sort((a, b) => compare(a[0], b[0], direction === "descending" ? -1 : 1));
    body.append(...rows.map(([, row]) => row));
    [...table.tHead.rows].at(-1).querySelectorAll("th").forEach((head, at) => {
      if (!head.querySelector("button")) return;
      head.setAttribute("aria-sort", at === column ? direction : "none");
    });
  }

  function show() {
    const now = state.read();
    const readings = ["scored-only", "failures-as-wrong"];
    const reading = readings.find((name) => name === now.get("reading")) || readings[0];
    for (const name of readings) {
      document.body.classList.toggle("reading-" + name, name === reading);
    }
    document.querySelectorAll("input[name=reading]").forEach((input) => {
      input.checked = input.value === reading;
    });
    for (const part of (now.get("sort") || "").split(",").filter(Boolean)) {
      const [id, column, direction] = part.split(":");
      const table = document.getElementById(id);
      const there = table && table.classList.contains("sortable");
      const head = there && /^\d+$/.test(column) ? table.tHead.rows[0].cells[Number(column)] : null;
      if (head && head.querySelector("button")) {
        sort(table, Number(column), direction === "down" ? "descending" : "ascending", reading);
      }
    }
    showSlices(now);
  }

  function showSlices(now) {
    const by = document.getElementById("by");
    const metric = document.getElementById("slice-metric");
    if (!by) return;
    for (const select of [by, metric]) {
      const wanted = now.get(select === by ? "by" : "metric");
      if ([...select.options].some((option) => option.value === wanted)) select.value = wanted;
    }
    let found = false;
    document.querySelectorAll("[data-by]").forEach((part) => {
      part.hidden = part.dataset.by !== by.value || part.dataset.metric !== metric.value;
      found = found || !part.hidden;
    });
    document.getElementById("no-slices").hidden = found;
  }

  function sorted(table, column) {
    const head = [...table.tHead.rows].at(-1).cells[column];
    const before = head.getAttribute("aria-sort");
    const first = head.dataset.first || "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const next = before === first ? other : first;
    const rest = (state.read().get("sort") || "").split(",");
    const others = rest.filter((part) => part && part.split(":")[0] !== table.id);
    const mine = [table.id, column, next === "descending" ? "down" : "up"].join(":");
    state.go({ sort: [...others, mine].join(",") });
  }

  document.querySelectorAll("table.sortable").forEach((table) => {
    table.querySelectorAll("thead th button").forEach((button) => {
      button.addEventListener("click", () => sorted(table, button.closest("th").cellIndex));
    });
  });
  document.querySelectorAll("input[name=reading]").forEach((input) => {
    input.addEventListener("change", () => state.go({ reading: input.value }));
  });
  for (const [id, name] of [["by", "by"], ["slice-metric", "metric"]]) {
    const select = document.getElementById(id);
    if (select) select.addEventListener("change", () => state.go({ [name]: select.value }));
  }
  addEventListener("hashchange", show);
  show();
  const view = state.read().get("view");
  const there = view && document.getElementById("view=" + view);
  if (there) there.scrollIntoView();
})(window.rejudge);
