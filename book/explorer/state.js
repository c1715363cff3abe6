/* The state: which setting is shown. It lives in the address, so that a link or a reload restores it. */
(function (E) {
  "use strict";
  var plane = window.EXPLORER_PLANE, draws = window.EXPLORER_DRAWS;

  /* At first only what the two numbers above the picture speak of is drawn; the other curves are a click away. */
  var FIRST = ["channel", "first_moment", "packing_empty", "signed", "counts_first", "mapped", "sum_first"];
  function hiddenAtFirst() {
    return E.LAYERS.map(function (l) { return l.key; }).filter(function (key) { return FIRST.indexOf(key) < 0; });
  }

  /** A table of one's own in an address: 7.0/0.3 has two lines of two counts. */
  function tableText(own) { return own.trim().split(/\s*\n\s*/).map(function (line) { return line.split(/\s+/).join("."); }).join("/"); }
  function tableOf(text) { return text.split("/").map(function (line) { return line.split(".").join(" "); }).join("\n"); }

  function start() {
    var s = plane.start;
    return {
      view: "plane", step: 1, privacy: s.privacy, epsilon: s.epsilon, rho: s.rho, delta: s.delta, d: s.d, sum: s.sum,
      own: null, hide: hiddenAtFirst(), table: draws.tables[0].key, level: draws.start, draw: 1
    };
  }

  /** The stop nearest to a value, by ratio. */
  function nearest(stops, value) {
    var best = stops[0];
    stops.forEach(function (stop) {
      if (Math.abs(Math.log(stop / value)) < Math.abs(Math.log(best / value))) { best = stop; }
    });
    return best;
  }

  function stops(name) {
    if (name === "d") { return plane.points; }
    if (name === "sum") { return plane.sums; }
    if (name === "delta") { return plane.modes.approximate.deltas; }
    return plane.modes[name === "rho" ? "zcdp" : "pure"].levels;
  }

  var KEYS = {
    view: ["story", "plane", "draws", "own"],
    privacy: ["pure", "approximate", "zcdp"],
    table: draws.tables.map(function (t) { return t.key; }),
    level: draws.levels.map(function (l) { return l.key; })
  };

  /** Read an address; whatever is not understood is named, and the default stays. */
  function read(hash) {
    var state = start(), complaints = [], given = [];
    if (!hash.replace(/^#/, "")) { state.view = "story"; }
    hash.replace(/^#/, "").split("&").forEach(function (pair) {
      if (!pair) { return; }
      var at = pair.indexOf("="), key = at < 0 ? pair : pair.slice(0, at), text = "";
      try { text = decodeURIComponent(at < 0 ? "" : pair.slice(at + 1)); } catch (error) { text = pair; }
      if (KEYS[key]) {
        if (KEYS[key].indexOf(text) >= 0) { state[key] = text; }
        else { complaints.push(key + " is “" + text + "”; it can be " + KEYS[key].join(", ")); }
      } else if (["epsilon", "rho", "delta", "d", "sum"].indexOf(key) >= 0) {
        var value = Number(text);
        if (!(value > 0) || !isFinite(value)) { complaints.push(key + " is “" + text + "”; it must be a positive number"); return; }
        state[key] = nearest(stops(key), value);
        given.push(key);
        if (Math.abs(state[key] / value - 1) > 1e-9) {
          complaints.push("the slider has no stop at " + key + " = " + text + "; shown is the nearest, " + E.exact(state[key]));
        }
      } else if (key === "step") {
        var m = Number(text);
        if (m >= 1 && m <= E.STEPS && Math.floor(m) === m) { state.step = m; }
        else { complaints.push("step is “" + text + "”; it must be a whole number from 1 to " + E.STEPS); }
      } else if (key === "draw") {
        var n = Number(text);
        if (n >= 1 && n <= draws.draws && Math.floor(n) === n) { state.draw = n; }
        else { complaints.push("draw is “" + text + "”; it must be a whole number from 1 to " + draws.draws); }
      } else if (key === "counts") {
        var own = E.readTable(tableOf(text));
        if (own.error) { complaints.push("counts are “" + text + "”. " + own.error.replace(/\.$/, "")); } else { state.own = tableOf(text); }
      } else if (key === "hide") {
        var layers = E.LAYERS.map(function (l) { return l.key; }), hide = text === "none" ? [] : text.split(",");
        if (hide.every(function (name) { return layers.indexOf(name) >= 0; })) { state.hide = hide; }
        else { complaints.push("hide is “" + text + "”; it can be none, or with commas between " + layers.join(", ")); }
      } else { complaints.push("the address says “" + pair + "”, which means nothing here"); }
    });
    // What the setting uses is known at the end, as the view and the kind of privacy may come last.
    given.forEach(function (key) {
      if (write(state).indexOf("&" + key + "=") < 0) { complaints.push(key + " is given, but is not used in this setting"); }
    });
    return { state: state, complaints: complaints };
  }

  /** Write the address of a state: only what the view shows; a table of one's own only in a link that is asked for. */
  function write(state, own) {
    var pairs = [];
    if (state.view === "story") {
      pairs = [["view", "story"], ["step", state.step]];
    } else if (state.view === "own") {
      pairs = [["view", "own"], ["epsilon", state.epsilon], ["draw", state.draw]];
      if (own) { pairs.push(["counts", tableText(own)]); }
    } else if (state.view === "draws") {
      pairs = [["view", "draws"], ["table", state.table], ["level", state.level], ["draw", state.draw]];
    } else {
      pairs.push(["privacy", state.privacy]);
      if (state.privacy === "zcdp") { pairs.push(["rho", state.rho]); } else { pairs.push(["epsilon", state.epsilon]); }
      if (state.privacy === "approximate") { pairs.push(["delta", state.delta]); }
      pairs.push(["d", state.d], ["sum", state.sum]);
      if (state.hide.join() !== hiddenAtFirst().join()) { pairs.push(["hide", state.hide.join(",") || "none"]); }
    }
    return "#" + pairs.map(function (p) { return p[0] + "=" + p[1]; }).join("&");
  }

  E.State = { start: start, read: read, write: write, stops: stops, nearest: nearest };
}(window.Explorer));
