/* One item: question, reference, media, and every run's answer side by side. */
(function (rejudge) {
  "use strict";

  const { el, prose, clock, span } = rejudge.dom;
  const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

  function section(title, ...children) {
    return el("section", {}, el("h3", {}, title), children);
  }

  function list(facts) {
    return el("dl", { class: "facts" }, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
  }

  function options(entry, nameOf) {
    if (!entry.options || !entry.options.length) return null;
    const right = entry.reference ? entry.reference.option : null;
    const rows = entry.options.map((text, at) => {
      const chosen = entry.answers.filter((answer) => answer.option === LETTERS[at]);
      return el(
        "li",
        { class: at === right ? "right" : null },
        el("b", {}, LETTERS[at] + " "),
        prose(text, "Option " + LETTERS[at], "span"),
        at === right && el("span", { class: "badge good" }, "reference"),
        chosen.map((answer) => el("span", { class: "badge" }, nameOf(answer.column)))
      );
    });
    return section("Options", el("ol", { class: "options" }, rows));
  }

  function reference(entry) {
    const found = entry.reference;
    if (!found) return null;
    const parts = [];
    const bullets = (texts) => el("ul", {}, texts.map((text) => el("li", {}, prose(text, "", "span"))));
    if (found.interval) parts.push(el("p", {}, el("b", {}, span(found.interval))));
    if (found.detailed) parts.push(prose(found.detailed, "Reference"));
    if (found.short) parts.push(bullets(found.short));
    if (found.answers) parts.push(bullets(found.answers));
    if (found.keyPoints && found.keyPoints.length) parts.push(el("h4", {}, "Key points"), bullets(found.keyPoints));
    if (found.rationale) parts.push(el("p", {}, prose(found.rationale, "Rationale", "span")));
    return parts.length ? section("Reference", parts) : null;
  }

  function scores(catalog, answer) {
    const rows = answer.scores.map(([at, value, status, reason]) => {
      const metric = catalog.metrics[at];
      const shown = value === null ? status.replace("_", " ") : shownValue(metric, value);
      return el(
        "tr",
        {},
        el("th", { scope: "row" }, metric.title),
        el("td", { class: value === null ? "failed" : null }, shown, reason && el("small", {}, " " + reason))
      );
    });
    if (!rows.length) return null;
    return el("table", { class: "scores" }, el("caption", {}, "Scores"), el("tbody", {}, rows));
  }

  function shownValue(metric, value) {
    const scaled = value * metric.scale;
    return Math.abs(scaled) >= 1e7 ? scaled.toExponential(2) : scaled.toFixed(metric.digits);
  }

  function verdicts(answer) {
    if (!answer.verdicts.length) return null;
    const made = answer.verdicts.map((one) => {
      const aspect = one.metric.replace(/_judge$/, "").replaceAll("_", " ");
      const score = one.score === null ? one.status.replace("_", " ") : String(one.score);
      return el(
        "li",
        {},
        el("b", {}, one.judge),
        " on " + aspect + ": ",
        el("span", { class: one.score === null ? "badge bad" : "badge" }, score),
        one.samples.length > 0 && el("small", {}, " mean of " + one.samples.join(", ")),
        one.aspects.length > 0 && list(one.aspects.map(([name, value]) => [name, String(value ?? "–")])),
        one.justification && prose(one.justification, "Justification by " + one.judge),
        one.reason && el("p", { class: "hint" }, one.reason)
      );
    });
    return el("div", {}, el("h4", {}, "Verdicts"), el("ul", { class: "verdicts" }, made));
  }

  function read(answer) {
    const facts = [];
    if (answer.option) facts.push(["option", answer.option]);
    if (answer.interval[0] !== null || answer.interval[1] !== null) facts.push(["interval", span(answer.interval)]);
    if (answer.confidence !== null) facts.push(["stated confidence", String(answer.confidence)]);
    if (answer.flags.length) facts.push(["flags", answer.flags.join(", ")]);
    for (const [judge, kind, why] of answer.errors) {
      facts.push(["error type" + (judge ? " (" + judge + ")" : ""), kind.replaceAll("_", " ") + (why ? ": " + why : "")]);
    }
    return facts.length ? list(facts) : null;
  }

  function said(answer) {
    if (!answer.said) return null;
    const { outcome, text, reasoning, error } = answer.said;
    return [
      el("h4", {}, "Answer", outcome !== "ok" && el("span", { class: "badge bad" }, outcome)),
      text ? prose(text, "Answer") : el("p", { class: "hint" }, "No text."),
      reasoning && el("details", {}, el("summary", {}, "Reasoning"), prose(reasoning, "Reasoning")),
      error && prose(error, "Error"),
    ];
  }

  function key(answer) {
    if (!answer.key) return null;
    return el(
      "p",
      { class: "key" },
      "Record ",
      el("a", { href: "#key=" + answer.key, title: "Items that this record answers" }, el("code", {}, answer.key.slice(0, 16) + "…")),
      el("details", {}, el("summary", {}, "Look at it"), el("code", {}, "rejudge cache cat " + answer.key + " --store STORE"))
    );
  }

  /* How an answer ended: as its metrics did, which may differ. */
  function badge(answer) {
    const all = new Set([answer.status, ...answer.scores.map(([, , status]) => status)]);
    const failed = [...all].filter((status) => status !== "scored");
    if (!failed.length) return el("span", { class: "badge good" }, "read");
    const some = answer.scores.some(([, , status]) => status === "scored");
    const words = failed.map((status) => status.replace("_", " ")).join(", ");
    return el("span", { class: "badge bad" }, (some ? "partly " : "") + words);
  }

  function card(catalog, answer, name, model, matches) {
    return el(
      "article",
      { class: matches ? "answer" : "answer other", "aria-label": "Answer of " + name },
      el("header", {}, el("h4", {}, name), el("span", { class: "hint" }, model), badge(answer)),
      answer.reason && el("p", { class: "hint" }, answer.reason),
      read(answer),
      said(answer),
      verdicts(answer),
      scores(catalog, answer),
      key(answer)
    );
  }

  /* Links to the turns of a dialogue. */
  function turns(entry) {
    if (!entry.turns || entry.turns.length < 2) return null;
    const links = entry.turns.map(([number, name]) =>
      el("li", {}, name === entry.id ? el("b", { "aria-current": "true" }, "turn " + number) : turnLink(number, name))
    );
    return el("nav", { "aria-label": "Turns of the dialogue" }, el("ol", { class: "turns" }, links));
  }

  const turnLink = (number, name) => el("a", { href: rejudge.state.changed({ item: name }) }, "turn " + number);

  /* What was asked and answered before: what a model said stood in its prompt. */
  function dialogue(entries, nameOf, asked) {
    if (!entries.length) return null;
    const made = entries.map((entry) =>
      el(
        "li",
        {},
        el("p", {}, turnLink(entry.turn, entry.id), ": ", entry.question ? prose(entry.question, "Question", "span") : "no question"),
        entry.answers
          .filter((answer) => asked.includes(answer.column))
          .map((answer) => el("div", { class: "before" }, el("h4", {}, nameOf(answer.column)), words(answer)))
      )
    );
    return section("Earlier turns", el("ol", { class: "dialogue" }, made));
  }

  function words(answer) {
    if (answer.said && answer.said.text) return prose(answer.said.text, "Answer");
    const ending = [answer.status.replace("_", " "), answer.reason].filter(Boolean).join(": ");
    return el("p", { class: "hint" }, answer.said ? "No text (" + ending + ")." : "Not shown: " + ending + ".");
  }

  /* The elements of an item.

     nameOf: a column's name; asked: the columns that were filtered for, which come first; earlier:
     the earlier turns of its dialogue */
  rejudge.item = function (catalog, entry, nameOf, asked, earlier) {
    const player = rejudge.player(entry);
    const rows = entry.answers.map((answer) => [nameOf(answer.column), answer.interval]);
    const first = entry.answers.filter((answer) => asked.includes(answer.column));
    const rest = entry.answers.filter((answer) => !asked.includes(answer.column));
    const cards = [...first, ...rest].map((answer) =>
      card(catalog, answer, nameOf(answer.column), catalog.columns[answer.column].model, asked.includes(answer.column))
    );
    const facts = [...(entry.attributes || [])];
    if (entry.segment) facts.unshift(["segment", span(entry.segment)]);
    if (entry.turn) facts.unshift(["turn", String(entry.turn)]);
    if (entry.cluster) facts.unshift([entry.turn ? "dialogue" : "cluster", entry.cluster]);
    return [
      entry.question && el("p", { class: "question" }, prose(entry.question, "Question", "span")),
      facts.length ? list(facts) : null,
      turns(entry),
      entry.example && entry.example.video && el("details", {}, el("summary", {}, "The example that was shown first"), rejudge.player({ media: entry.example }).element),
      player && player.element,
      rejudge.timeline(entry, rows, player),
      options(entry, nameOf),
      reference(entry),
      dialogue(earlier, nameOf, asked),
      section("Answers", el("div", { class: "answers" }, cards)),
    ].filter(Boolean);
  };
})(window.rejudge);
