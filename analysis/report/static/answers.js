/* The browser of answers: what the address asks for, as a list and as one item. */
(async function (rejudge) {
  "use strict";

  const { el, count } = rejudge.dom;
  const state = rejudge.state;
  const PAGE = 50;
  const TEXTS = ["q", "min", "max"];
  const SELECTS = ["task", "topic", "run", "model", "status", "error", "metric", "order"];
  const part = (id) => document.getElementById(id);
  let catalog, items, places, matches;
  let shown = "";
  let pageNow = 1;
  let focus = null; /* what gets the focus once the next state is shown */

  try {
    catalog = await rejudge.load("catalog");
    const names = Array.from({ length: catalog.itemFiles }, (_, at) => rejudge.numbered("items", at, 3));
    items = (await Promise.all(names.map(rejudge.load))).flat();
  } catch (error) {
    part("count").textContent = error.message;
    return;
  }

  for (const item of items) item.push((item[0] + " " + item[3]).toLowerCase());
  /* An item's place among those of its task: metrics have values of one task only. */
  const counts = catalog.tasks.map(() => 0);
  places = items.map((item) => (counts[item[1]] += 1) - 1);
  const itemAt = new Map(items.map((item, at) => [item[0], at]));

  function nameOf(at) {
    const column = catalog.columns[at];
    return catalog.samples ? column.run + ", sample " + column.sample : column.run;
  }

  function askedNow() {
    const now = state.read();
    const asked = { key: now.get("key") || "" };
    for (const name of [...TEXTS, ...SELECTS]) asked[name] = now.get(name) || "";
    asked.metricAt = catalog.metrics.findIndex((one) => metricName(one) === asked.metric);
    for (const name of ["min", "max"]) if (!Number.isFinite(Number(asked[name]))) asked[name] = "";
    asked.page = /^\d+$/.test(now.get("page") || "") ? Number(now.get("page")) : 0;
    asked.item = now.get("item") || "";
    return asked;
  }

  function metricName(one) {
    return [one.task, one.name, one.judge].filter(Boolean).join(":");
  }

  function fill(id, options) {
    const made = options.map(([value, text]) => el("option", { value }, text));
    part(id).append(...made);
    part(id).closest("label").hidden = options.length < (id === "metric" || id === "error" ? 1 : 2);
  }

  /* By any judge, and by each where there are several. */
  function errorTypes() {
    const named = (kind) => kind.replaceAll("_", " ");
    const any = catalog.errorTypes.map((kind) => [kind, named(kind)]);
    if (catalog.errorJudges.length < 2) return any;
    const each = catalog.errorJudges.map((judge) =>
      catalog.errorTypes.map((kind) => [kind + "@" + judge, named(kind) + " (" + judge + ")"])
    );
    return [...any, ...each.flat()];
  }

  function fillForm() {
    const runs = [...new Set(catalog.columns.map((column) => column.run))];
    const models = [...new Set(catalog.columns.map((column) => column.model))];
    const words = (name) => [name, name.replaceAll("_", " ")];
    fill("task", catalog.tasks.map((one) => [one.name, one.title]));
    fill("topic", catalog.topics.map(words));
    fill("run", runs.map((name) => [name, name]));
    fill("model", models.map((name) => [name, name]));
    fill("status", catalog.statuses.map(words));
    fill("error", errorTypes());
    const titles = new Map(catalog.tasks.map((one) => [one.name, one.title]));
    fill("metric", catalog.metrics.map((one) => [metricName(one), titles.get(one.task) + ": " + one.title]));
  }

  function showForm(asked) {
    for (const name of [...TEXTS, ...SELECTS]) {
      if (document.activeElement !== part(name) || part(name).tagName === "SELECT") part(name).value = asked[name];
    }
    for (const name of ["min", "max", "order"]) part(name).disabled = asked.metricAt < 0;
    part("key-note").hidden = !asked.key;
    part("key-digits").textContent = asked.key.slice(0, 16) + "…";
  }

  async function values(asked) {
    const file = (kind) => (_, at) => rejudge.load(rejudge.numbered(kind, at, 3));
    return {
      places,
      values: asked.metricAt < 0 ? null : await rejudge.load(rejudge.numbered("metric", asked.metricAt, 3)),
      keys: asked.key ? await Promise.all(catalog.columns.map(file("keys"))) : null,
    };
  }

  /* The page asked for, else the one with the item that is open, else the first. */
  function pageOf(asked, pages) {
    if (asked.page) return Math.min(asked.page, pages);
    const at = matches.found.findIndex((one) => items[one.at][0] === asked.item);
    return at < 0 ? 1 : Math.floor(at / PAGE) + 1;
  }

  function showList(asked) {
    const pages = Math.max(1, Math.ceil(matches.found.length / PAGE));
    const at = (pageNow = pageOf(asked, pages));
    const some = matches.found.slice((at - 1) * PAGE, at * PAGE);
    part("list").replaceChildren(...some.map((one) => row(one, asked)));
    part("list").start = (at - 1) * PAGE + 1;
    part("count").textContent =
      count(matches.found.length) + " of " + count(items.length) + " items, " + count(matches.count) + " answers";
    part("pages").hidden = pages === 1;
    part("page").textContent = "page " + at + " of " + pages;
    part("page-before").disabled = at === 1;
    part("page-after").disabled = at === pages;
    /* Beside an item the list scrolls by itself. */
    const box = part("found");
    const link = part("list").querySelector("[aria-current=true]");
    const hidden = link && (link.offsetTop < box.scrollTop || link.offsetTop + 60 > box.scrollTop + box.clientHeight);
    if (hidden && asked.item) box.scrollTop = link.offsetTop - 60;
  }

  function row(one, asked) {
    const item = items[one.at];
    const metric = catalog.metrics[asked.metricAt];
    const score = one.score && metric ? one.score.mean.toFixed(metric.digits) + (metric.unit && " " + metric.unit) : "";
    const link = el(
      "a",
      { href: state.changed({ item: item[0] }), "aria-current": item[0] === asked.item ? "true" : null },
      el("span", { class: "snippet" }, item[3] || item[0]),
      el(
        "span",
        { class: "hint" },
        item[3] ? item[0] : "",
        el("span", {}, catalog.topics[item[2]].replaceAll("_", " ")),
        score && el("span", {}, el("b", {}, score))
      )
    );
    return el("li", {}, link);
  }

  function step(by) {
    const at = matches.found.findIndex((one) => items[one.at][0] === shown);
    const next = matches.found[at + by];
    return at >= 0 && next ? items[next.at][0] : "";
  }

  async function entryAt(at) {
    const chunk = catalog.chunks.findLastIndex((first) => first <= at);
    const entries = await rejudge.load(rejudge.numbered("chunk", chunk, 4));
    return entries[at - catalog.chunks[chunk]];
  }

  async function showItem(asked) {
    const at = itemAt.get(asked.item);
    part("detail").hidden = !asked.item;
    if (!asked.item) {
      shown = "";
      return;
    }
    const fresh = shown !== asked.item;
    shown = asked.item;
    for (const [id, by] of [["item-before", -1], ["item-after", 1]]) {
      part(id).disabled = !step(by);
    }
    part("item-title").textContent = asked.item;
    document.title = asked.item + " – " + catalog.benchmark;
    if (at === undefined) {
      part("item").replaceChildren(el("p", {}, "There is no such item in this report."));
      return;
    }
    const [, task, topic] = items[at];
    part("item-kind").textContent = catalog.tasks[task].title + ", " + catalog.topics[topic].replaceAll("_", " ");
    try {
      const entry = await entryAt(at);
      const before = (entry.turns || []).filter(([number, name]) => number < entry.turn && itemAt.has(name));
      const earlier = await Promise.all(before.map(([, name]) => entryAt(itemAt.get(name))));
      if (shown !== asked.item) return;
      const chosen = catalog.columns
        .map((column, place) => place)
        .filter((place) => !asked.run || catalog.columns[place].run === asked.run)
        .filter((place) => !asked.model || catalog.columns[place].model === asked.model);
      if (fresh || part("item").dataset.asked !== asked.run + "\n" + asked.model) {
        part("item").replaceChildren(...rejudge.item(catalog, entry, nameOf, chosen, earlier));
        part("item").dataset.asked = asked.run + "\n" + asked.model;
      }
    } catch (error) {
      part("item").replaceChildren(el("p", {}, error.message));
    }
  }

  let turn = 0;
  async function show() {
    const mine = (turn += 1);
    const asked = askedNow();
    showForm(asked);
    try {
      const data = await values(asked);
      if (mine !== turn) return;
      matches = rejudge.match(catalog, items, asked, data);
    } catch (error) {
      part("count").textContent = error.message;
      return;
    }
    document.body.classList.toggle("reading-item", Boolean(asked.item));
    showList(asked);
    await showItem(asked);
    if (focus) focus();
    focus = null;
  }

  function listen() {
    for (const name of SELECTS) {
      part(name).addEventListener("change", () => state.go({ [name]: part(name).value, page: null }));
    }
    for (const name of TEXTS) {
      part(name).addEventListener("input", () => state.go({ [name]: part(name).value, page: null }));
    }
    part("filters").addEventListener("submit", (event) => event.preventDefault());
    part("clear").addEventListener("click", () => {
      location.hash = "#";
    });
    part("without-key").addEventListener("click", () => state.go({ key: null }, true));
    const turnTo = (by) => () => {
      state.go({ page: String(pageNow + by) }, true);
      part("list").scrollIntoView({ block: "nearest" });
    };
    part("page-before").addEventListener("click", turnTo(-1));
    part("page-after").addEventListener("click", turnTo(1));
    part("item-before").addEventListener("click", () => state.go({ item: step(-1) }, true));
    part("item-after").addEventListener("click", () => state.go({ item: step(1) }, true));
    part("item-close").addEventListener("click", () => {
      const left = shown;
      focus = () => {
        const at = matches.found.findIndex((one) => items[one.at][0] === left) % PAGE;
        const link = part("list").children[at];
        if (link) link.firstChild.focus();
      };
      state.go({ item: null, page: String(pageNow) }, true);
    });
    part("list").addEventListener("click", (event) => {
      /* Who opens an item is taken to it, with keyboard and screen reader, too. */
      if (event.target.closest("a")) focus = () => part("item-title").focus({ preventScroll: innerWidth > 900 });
    });
    addEventListener("hashchange", show);
  }

  fillForm();
  listen();
  await show();
  document.body.dataset.ready = "true";
})(window.rejudge);
