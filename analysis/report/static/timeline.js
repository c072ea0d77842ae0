/* The reference and every answer's interval on the clock of the segment, and the player. */
(function (rejudge) {
  "use strict";

  const { el, clock, span } = rejudge.dom;
  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400];

  /* What the axis shows: the segment, else the whole video, else what there is. */
  function axisOf(entry, intervals) {
    if (entry.segment) return entry.segment;
    if (entry.duration) return [0, entry.duration];
    const ends = intervals.flat().filter((end) => Math.abs(end) < 1e6);
    return [Math.min(0, ...ends), Math.max(1, ...ends)];
  }

  function percent(axis, time) {
    return Math.min(100, Math.max(0, (100 * (time - axis[0])) / (axis[1] - axis[0])));
  }

  function bar(axis, interval, kind) {
    const [start, end] = interval;
    if (end < axis[0]) return el("span", { class: "outside before " + kind }, "◂ before");
    if (start > axis[1]) return el("span", { class: "outside after " + kind }, "after ▸");
    const made = el("span", { class: "bar " + kind });
    const [left, right] = [percent(axis, Math.min(start, end)), percent(axis, Math.max(start, end))];
    made.style.left = left + "%";
    made.style.width = right - left + "%";
    if (end < start) made.classList.add("reversed");
    return made;
  }

  /* What is wrong with an interval that has both ends. */
  function fault(start, end) {
    if (start === null || end === null || end > start) return "";
    return end < start ? " (reversed)" : " (empty)";
  }

  function row(axis, name, interval, kind, player) {
    const [start, end] = interval;
    const track = el("span", { class: "track", "aria-hidden": "true" });
    if (start !== null && end !== null) track.append(bar(axis, interval, kind));
    else if (start !== null || end !== null) {
      const known = start === null ? end : start;
      track.append(bar(axis, [known, known], kind + " half"));
    }
    const words = start === null && end === null ? "no interval" : span(interval) + fault(start, end);
    const can = player && start !== null && end !== null && end > start;
    const times = can
      ? el("button", { type: "button", class: "times", "aria-label": "Play " + name + ", " + words, on: { click: () => player.play(start, end) } }, words)
      : el("span", { class: "times" }, words);
    return el("li", {}, el("span", { class: "name", title: name }, name), track, times);
  }

  function ticks(axis) {
    const length = axis[1] - axis[0];
    const step = STEPS.find((one) => length / one <= 8) || length / 5;
    const made = el("div", { class: "ticks", "aria-hidden": "true" });
    for (let at = Math.ceil(axis[0] / step) * step; at <= axis[1] + 1e-6; at += step) {
      const tick = el("span", {}, clock(at));
      tick.style.left = percent(axis, at) + "%";
      made.append(tick);
    }
    return made;
  }

  /* A figure of the reference and the answers, or null where no answer is an interval.

     rows: [name, [start, end]] of each answer */
  rejudge.timeline = function (entry, rows, player) {
    const reference = entry.reference && entry.reference.interval;
    const given = rows.filter(([, interval]) => interval[0] !== null || interval[1] !== null);
    if (!reference && !given.length) return null;
    const axis = axisOf(entry, [...(reference ? [reference] : []), ...given.map(([, one]) => one)]);
    const shown = rows.map(([name, interval]) => row(axis, name, interval, "given", player));
    if (reference) shown.unshift(row(axis, "Reference", reference, "reference", player));
    return el(
      "figure",
      { class: "timeline" },
      el("figcaption", {}, (entry.segment ? "Segment " : "Video ") + span(axis)),
      ticks(axis),
      el("ol", {}, shown)
    );
  };

  /* Players of an item's media, begun at its segment; null where there are none at hand. */
  rejudge.player = function (entry) {
    const media = entry.media || {};
    const stretch = entry.segment ? "#t=" + entry.segment.join(",") : "";
    const made = ["video", "audio"]
      .filter((kind) => media[kind])
      .map((kind) =>
        el(kind, { controls: true, preload: "metadata", src: media[kind] + stretch, "aria-label": kind === "video" ? "The item's video" : "The item's sound" })
      );
    if (!made.length) return null;
    const note = el("p", { class: "hint" });
    made[0].addEventListener("error", () => {
      note.textContent = "This cannot be played: the file is not where it was when the report was written, or the browser does not know its format.";
    });
    let until = Infinity;
    made[0].addEventListener("timeupdate", () => {
      if (made[0].currentTime >= until) made.forEach((one) => one.pause());
    });
    made[0].addEventListener("pause", () => {
      until = Infinity;
    });
    return {
      element: el("div", { class: "player" }, made, note),
      play(start, end) {
        until = end;
        made.forEach((one) => {
          one.currentTime = start;
        });
        made[0].play().catch(() => {});
      },
    };
  };
})(window.rejudge);
