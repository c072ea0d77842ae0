/* The state of a page is its address: what stands behind # can be copied, kept and sent. */
window.rejudge = window.rejudge || {};

(function (rejudge) {
  "use strict";

  function read() {
    return new URLSearchParams(location.hash.slice(1));
  }

  /* Names without a value are left out, and what is legal in an address stays readable. */
  function address(state) {
    const kept = new URLSearchParams([...state].filter(([, value]) => value !== ""));
    return "#" + kept.toString().replaceAll("%2F", "/").replaceAll("%3A", ":").replaceAll("%40", "@");
  }

  /* The address of the present state with some members changed; null removes one. */
  function changed(changes) {
    const state = read();
    for (const [name, value] of Object.entries(changes)) {
      state.delete(name);
      if (value !== null && value !== "") state.set(name, value);
    }
    return address(state);
  }

  /* A step of its own in the browser's history, or not. Both lead to "hashchange". */
  function go(changes, step) {
    if (step) location.hash = changed(changes);
    else location.replace(changed(changes));
  }

  rejudge.state = { read, changed, go };
})(window.rejudge);
