/* Data, loaded on demand. A page from disk may not fetch files, but it may run scripts beside it:
   each of them calls put with its name and what it holds. */
(function (rejudge) {
  "use strict";

  const KEPT = 12; /* chunks that stay in memory */
  const promised = new Map();
  const waiting = new Map();

  rejudge.put = function (name, value) {
    const wait = waiting.get(name);
    waiting.delete(name);
    if (wait) wait(value);
  };

  function load(name) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      waiting.set(name, resolve);
      script.src = "data/" + name + ".js";
      const fail = () => {
        promised.delete(name);
        script.remove();
        reject(new Error("data/" + name + ".js cannot be read. Is the report's folder complete?"));
      };
      script.onerror = fail;
      script.onload = () => (waiting.has(name) ? fail() : script.remove());
      document.head.append(script);
    });
  }

  /* The value that a file holds; read once, and chunks again if they were long ago. */
  rejudge.load = function (name) {
    const known = promised.get(name) || load(name);
    promised.delete(name);
    promised.set(name, known);
    const chunks = [...promised.keys()].filter((one) => /^(chunk|text)-/.test(one));
    chunks.slice(0, -KEPT).forEach((one) => promised.delete(one));
    return known;
  };

  rejudge.numbered = (kind, number, digits) => kind + "-" + String(number).padStart(digits, "0");
})(window.rejudge);
