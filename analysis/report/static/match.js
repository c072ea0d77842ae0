/* Which items have an answer that meets all that is asked for. No page is touched here. */
(function (rejudge) {
  "use strict";

  const MASKS = "0123456789abcdefghijklmnopqrstuv";

  /* The columns (run and sample) that are asked for. */
  function columns(catalog, asked) {
    return catalog.columns
      .map((column, at) => ({ ...column, at }))
      .filter((column) => !asked.run || column.run === asked.run)
      .filter((column) => !asked.model || column.model === asked.model)
      .map((column) => column.at);
  }

  function ofItems(catalog, items, asked) {
    const task = catalog.tasks.findIndex((one) => one.name === asked.task);
    const topic = catalog.topics.indexOf(asked.topic);
    const words = asked.q.toLowerCase();
    if ((asked.task && task < 0) || (asked.topic && topic < 0)) return () => false;
    return (at) => {
      const item = items[at];
      if (asked.task && item[1] !== task) return false;
      if (asked.topic && item[2] !== topic) return false;
      return !words || item[4].includes(words);
    };
  }

  function ofAnswers(catalog, asked, values, places, keys) {
    const bit = asked.status ? 1 << catalog.statuses.indexOf(asked.status) : 0;
    const [kind, judge] = asked.error.split("@");
    const known = catalog.errorTypes.indexOf(kind);
    const sign = known < 0 ? "?" : MASKS[known];
    const judges = catalog.errors.filter((_, at) => !judge || catalog.errorJudges[at] === judge);
    const least = asked.min === "" ? -Infinity : Number(asked.min);
    const most = asked.max === "" ? Infinity : Number(asked.max);
    const bounded = values && (asked.min !== "" || asked.max !== "");
    const key = asked.key.slice(0, catalog.keyDigits);
    return (at, column) => {
      const state = catalog.states[column][at];
      if (state === ".") return false;
      if (bit && !(MASKS.indexOf(state) & bit)) return false;
      if (asked.error && !judges.some((types) => types[column][at] === sign)) return false;
      if (key && !keys[column].startsWith(key, at * catalog.keyDigits)) return false;
      if (!bounded) return true;
      const value = values[column][places[at]];
      return value !== null && value !== undefined && value >= least && value <= most;
    };
  }

  /* Items of other tasks than the metric's have no value of it. */
  function scoreOf(values, places, chosen, at) {
    const found = chosen
      .map((column) => values[column][places[at]])
      .filter((value) => value !== null && value !== undefined);
    if (!found.length) return null;
    /* Divided first: the sum of times that a model made up may be no number any more. */
    const mean = found.reduce((sum, value) => sum + value / found.length, 0);
    return { mean, spread: Math.max(...found) - Math.min(...found) };
  }

  const ORDERS = {
    low: (one) => one.mean,
    high: (one) => -one.mean,
    spread: (one) => -one.spread,
  };

  /* Returns the matching items in the order asked for, and how many answers match.

     items: [id, task, topic, beginning of the question, what is searched in small letters]
     values: of the metric asked for, column by column over the items of its task; else null
     places: each item's place among those of its task
     keys: beginnings of the records' keys, column by column; only where a key is asked for */
  rejudge.match = function (catalog, items, asked, { values, places, keys }) {
    const chosen = columns(catalog, asked);
    const fits = ofItems(catalog, items, asked);
    const answers = ofAnswers(catalog, asked, values, places, keys);
    const metric = catalog.metrics[asked.metricAt];
    const found = [];
    let count = 0;
    for (let at = 0; at < items.length; at += 1) {
      if (!fits(at)) continue;
      if (metric && catalog.tasks[items[at][1]].name !== metric.task) continue;
      let matching = 0;
      for (const column of chosen) if (answers(at, column)) matching += 1;
      if (!matching) continue;
      count += matching;
      found.push({ at, matching, score: values ? scoreOf(values, places, chosen, at) : null });
    }
    const by = values && Object.hasOwn(ORDERS, asked.order) && ORDERS[asked.order];
    if (by) {
      const keyed = found.map((one) => [one.score ? by(one.score) : Infinity, one]);
      keyed.sort((a, b) => a[0] - b[0] || a[1].at - b[1].at);
      return { found: keyed.map(([, one]) => one), count };
    }
    return { found, count };
  };
})(window.rejudge);
