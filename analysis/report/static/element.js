/* Elements made of texts. Texts of models are set as text, never read as markup. */
(function (rejudge) {
  "use strict";

  /* An element with attributes and children; a text is a child, null and false are none. */
  function el(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key === "on") Object.entries(value).forEach(([kind, act]) => made.addEventListener(kind, act));
      else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.flat(Infinity).filter((child) => child !== null && child !== false));
    return made;
  }

  const count = (number) => number.toLocaleString("en");

  /* A text as its chunk holds it: whole, or its beginning and the files that hold all of it. */
  function prose(text, label, tag) {
    if (typeof text === "string") {
      if (tag) return el(tag, { class: "text" }, text);
      return el("div", { class: "said", tabindex: "0", role: "group", "aria-label": label }, text);
    }
    const box = el("div", { class: "said", tabindex: "0", role: "group", "aria-label": label });
    box.textContent = text.head + "…";
    const note = el("p", { class: "more" });
    const button = el("button", { type: "button" }, "Show all " + count(text.length) + " characters");
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        const parts = await Promise.all(text.files.map(rejudge.load));
        box.textContent = parts.join("");
        note.replaceChildren(count(text.length) + " characters");
      } catch (error) {
        note.replaceChildren(error.message);
      }
    });
    note.append(button);
    return el("div", {}, box, note);
  }

  /* Seconds as a clock: 1:02.5, 1:00:02. */
  function clock(seconds) {
    if (!Number.isFinite(seconds)) return "–";
    if (Math.abs(seconds) >= 360000) return seconds.toPrecision(3) + " s";
    const sign = seconds < 0 ? "−" : "";
    const all = Math.round(Math.abs(seconds) * 100) / 100;
    const whole = Math.floor(all);
    const rest = Math.round((all - whole) * 100);
    const two = (number) => String(number).padStart(2, "0");
    const hours = Math.floor(whole / 3600);
    const minutes = Math.floor(whole / 60) % 60;
    const fraction = rest ? ("." + two(rest)).replace(/0$/, "") : "";
    return sign + (hours ? hours + ":" + two(minutes) : minutes) + ":" + two(whole % 60) + fraction;
  }

  const span = ([start, end]) => clock(start) + "–" + clock(end);

  rejudge.dom = { el, prose, clock, span, count };
})(window.rejudge);
