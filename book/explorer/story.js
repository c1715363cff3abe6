/* The idea in five steps, on the small table that the book begins with; then it hands over to the sliders. */
(function (E) {
  "use strict";
  var data = window.EXPLORER_DRAWS, MARGIN = { top: 20, right: 8, bottom: 30, left: 46 };
  E.STEPS = 5;
  function by(id) { return document.getElementById(id); }
  function add(list) { return list.reduce(function (a, b) { return a + b; }, 0); }
  var written = E.count;

  /** The numbers of the story: one draw, clipped, and with its total kept. Without a draw, the one that the level chose. */
  E.storyValues = function (key, draw) {
    var level = data.levels.filter(function (l) { return l.key === key; })[0];
    var v = E.drawValues({ table: data.tables[0].key, level: key, draw: draw || level.story });
    var clipped = v.noisy.cells.map(function (a) { return Math.max(a, 0); });
    var kept = E.project(v.noisy.cells, Math.max(0, v.noisy.sum));
    return { draw: v.draw, noisy: v.noisy.cells, clipped: clipped, kept: kept.x, level: kept.level, truth: v.table.truth,
      total: v.truth.sum, noisyTotal: v.noisy.sum, clippedTotal: add(clipped), keptTotal: add(kept.x) };
  };

  /** Title and text of each step. */
  E.storyText = function (s, step) {
    var full = s.truth.indexOf(Math.max.apply(null, s.truth)), all = s.noisy.length, d = written(s.total);
    var negative = s.noisy.filter(function (a) { return a < 0; }).length, gone = s.kept.filter(function (x) { return x === 0; }).length;
    // Differences of numbers as they are written, so that a reader finds them again.
    function off(x, truth) { return Math.abs(Math.round(10 * x) / 10 - truth); }
    var paid = off(s.kept[full], s.truth[full]) > off(s.clipped[full], s.truth[full]);
    return [
      ["1. Signed answers", "A street of " + all + " houses, and " + d + " people, all in one house. Each count gets noise of its own, and so does the total. " +
        negative + " of the " + all + " answers are negative. The noisy total is " + written(s.noisyTotal) + "; the truth is " + d + "."],
      ["2. Clip", "Nobody publishes minus three people, so write 0 instead. Every count is now nearer to the truth or as near as before. But what was cut off was all on one side: the counts add up to " +
        written(s.clippedTotal) + ", and the truth is " + d + "."],
      ["3. Keep the sum", "Insist on the noisy total of " + written(s.noisyTotal) + ". The nearest nonnegative counts with that sum take the same amount off each house, as far as it goes. Now " +
        gone + " houses publish 0, and the house of " + d + " publishes " + written(s.kept[full]) + "."],
      ["4. The level", "That amount is a water level, here " + written(s.level) + ". Only what rises above it stays. The highest bar is " + written(Math.max.apply(null, s.noisy)) +
        ": with more houses the largest noise grows, and the level with it. Keeping the sum leaves the total off by " + written(off(s.keptTotal, s.total)) + ", where clipping left " + written(off(s.clippedTotal, s.total)) +
        ". " + (paid ? "A count pays for it: the" : "The") + " house of " + d + " is now off by " + written(off(s.kept[full], s.truth[full])) + ", after clipping by " + written(off(s.clipped[full], s.truth[full])) + "."],
      ["5. The choice", "Clipping pays in the total, keeping the sum pays in a count. Once there are many counts, every private method that forbids negative ones pays in one of the two, on some table: that is the theorem. You choose where above the shade you pay."]
    ][step - 1];
  };

  E.drawStory = function (state) {
    var s = E.storyValues(state.level), step = state.step, text = E.storyText(s, step), marks = by("story-marks");
    by("story-title").textContent = text[0];
    by("story-text").textContent = text[1];
    by("story-back").disabled = step === 1;
    by("story-next").hidden = step === 5;
    by("story-plane").hidden = step !== 5;
    by("story-count").textContent = step + " of " + E.STEPS;
    marks.hidden = step !== 5;
    if (step < 5) { bars(s, step); return text.join(". "); }
    var found = E.storyMarks(state);
    plane(found);
    marks.replaceChildren();
    found.marks.forEach(function (m) {
      var item = document.createElement("li"), svg = E.el(item, "svg", { viewBox: "-9 -9 18 18", class: "swatch-mark", "aria-hidden": "true" });
      E.mark(svg, m.key, 0, 0, {});
      var text = item.appendChild(document.createElement("span"));
      text.appendChild(document.createElement("strong")).textContent = m.name + ". ";
      text.append(m.says);
      marks.appendChild(item);
    });
    return text.concat(found.marks.map(function (m) { return m.name + ". " + m.says; })).join(". ");
  };

  /** What step 5 draws: the limit that is proved, and four marks with what is said of each. */
  E.storyMarks = function (state) {
    var v = E.values(state), n = E.number;
    function find(list, key) { return list.filter(function (x) { return x.key === key; })[0]; }
    var limit = v.bounds.reduce(function (a, b) { return b.atSigned > a.atSigned ? b : a; }), clip = find(v.mechanisms, "counts_first"), keep = find(v.mechanisms, "sum_first");
    var C = limit.atSigned;
    var marks = [
      { key: "signed", D: v.unit, C: v.unit, name: "Signed answers", says: "The total errs by " + n(v.unit) + ", and so does each count. They are no microdata, so the shade does not bind them." },
      { key: "counts_first", D: clip.D, C: clip.C, name: "Clip", says: "A count errs by " + n(clip.C) + ", the total by " + n(clip.D) + "." },
      { key: "sum_first", D: keep.D, C: keep.C, name: "Keep the sum", says: "The total errs by " + n(keep.D) + ", a count by " + n(keep.C) + " on its worst table." }
    ];
    if (C > 0) { marks.push({ key: "limit", D: v.unit, C: C, name: "The limit", says: "If the total errs no more than signed answers do, some count errs by " + E.atLeast(C) + " or more on some table, whoever makes the microdata." }); }
    return { v: v, limit: limit.key, curve: limit.curve, marks: marks };
  };

  function canvas(height) {
    var svg = by("story-svg"), width = Math.max(280, svg.clientWidth || 640);
    height = width < 520 ? height * 0.8 : height;
    svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    svg.style.height = height + "px";
    svg.replaceChildren();
    return { svg: svg, width: width, height: height };
  }

  function plane(found) {
    var c = canvas(300), v = found.v, unit = Math.log10(v.unit), right = 30, top = 3;
    found.marks.forEach(function (m) { right = Math.max(right, m.D / v.unit); top = Math.max(top, m.C / v.unit); });
    var x = E.scale(unit + Math.log10(0.3), unit + Math.log10(3 * right), MARGIN.left, c.width - MARGIN.right);
    var y = E.scale(unit + Math.log10(0.25), unit + Math.log10(2 * top), c.height - MARGIN.bottom - 12, MARGIN.top);
    E.ticks(x.low, x.high, (x.to - x.from) / 70).forEach(function (t) {
      E.el(c.svg, "text", { x: x(t.value), y: c.height - 26, class: "tick", "text-anchor": "middle" }, E.exact(t.value));
    });
    E.ticks(y.low, y.high, 5).forEach(function (t) {
      E.el(c.svg, "line", { x1: x.from, x2: x.to, y1: y(t.value), y2: y(t.value), class: "grid" });
      E.el(c.svg, "text", { x: x.from - 7, y: y(t.value) + 4, class: "tick", "text-anchor": "end" }, E.exact(t.value));
    });
    E.el(c.svg, "text", { x: x.to, y: c.height - 6, class: "axis", "text-anchor": "end" }, "error of the total →");
    E.el(c.svg, "text", { x: 2, y: 12, class: "axis" }, "↑ error of the worst count");
    var seen = E.clip(found.curve, x, y).map(function (p) { return [Math.max(x.from, p[0]), Math.min(y.from, p[1])]; });
    if (seen.length > 1) {
      E.el(c.svg, "path", { d: "M" + x.from + " " + y.from + "L" + x.from + " " + seen[0][1] + E.line(seen).replace(/^M/, "L") + "L" + seen[seen.length - 1][0] + " " + y.from + "Z", class: "region" });
      E.el(c.svg, "path", { d: E.line(seen), class: "bound " + found.limit });
    }
    found.marks.forEach(function (m) {
      var end = m.key === "counts_first", px = x(m.D), py = y(m.C);
      E.mark(c.svg, m.key, px, py, { class: "mechanism " + m.key });
      E.el(c.svg, "text", { x: px + (end ? -12 : 12), y: py + (m.key === "limit" ? -7 : 4), "text-anchor": end ? "end" : "start", class: "label " + m.key, "font-size": 13 }, m.name.toLowerCase());
    });
    by("story-caption").textContent = "A street of " + E.exact(v.d) + " houses, at " + E.level(v) + ". Errors are roots of expected squares, on the table where they are largest. In the shade no private microdata are possible.";
    by("story-name").textContent = "The plane of two errors with " + found.marks.length + " marks, explained below.";
  }

  function bars(s, step) {
    var shown = [s.noisy, s.clipped, s.kept, s.noisy][step - 1], c = canvas(300), svg = c.svg, width = c.width, height = c.height;
    var low = Math.min.apply(null, s.noisy), high = Math.max.apply(null, s.noisy.concat(s.truth)), pad = (high - low) * 0.06;
    var y = function (v) { return MARGIN.top + (high + pad - v) / (high - low + 2 * pad) * (height - MARGIN.top - MARGIN.bottom); };
    var slot = (width - MARGIN.left - MARGIN.right) / shown.length;
    var unit = Math.pow(10, Math.floor(Math.log10(high - low))), every = (high - low) / unit < 3 ? unit / 2 : unit;
    for (var t = Math.ceil(low / every) * every; t <= high; t += every) {
      E.el(svg, "line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: y(t), y2: y(t), class: Math.abs(t) < 1e-9 ? "zero" : "grid" });
      E.el(svg, "text", { x: MARGIN.left - 7, y: y(t) + 4, class: "tick", "text-anchor": "end" }, written(t));
    }
    shown.forEach(function (v, i) {
      var x = MARGIN.left + (i + 0.15) * slot, bar = Math.max(2, slot * 0.7);
      E.el(svg, "rect", { x: x, width: bar, y: y(Math.max(v, 0)), height: Math.max(Math.abs(y(v) - y(0)), 0.8), class: "story-bar" + (v < 0 ? " below" : "") });
      if (step === 4 && v > s.level) {
        E.el(svg, "rect", { x: x, width: bar, y: y(v), height: y(Math.max(s.level, 0)) - y(v), class: "story-stays" });
      }
      E.el(svg, "line", { x1: x - slot * 0.08, x2: x + bar + slot * 0.08, y1: y(s.truth[i]), y2: y(s.truth[i]), class: "story-truth" });
    });
    if (step === 4) {
      E.el(svg, "line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: y(s.level), y2: y(s.level), class: "story-level" });
      E.el(svg, "text", { x: width - MARGIN.right, y: y(s.level) - 6, class: "label", "text-anchor": "end", "font-size": 13 }, "level " + written(s.level));
    }
    by("story-caption").textContent = "Bars: " + ["the noisy counts", "the clipped counts", "the counts with the total kept", "the noisy counts; what rises above the level stays"][step - 1] +
      ". Short lines: the true counts. Total published: " + written([s.noisyTotal, s.clippedTotal, s.keptTotal, s.keptTotal][step - 1]) + ", true " + written(s.total) + ".";
    by("story-name").textContent = "Step " + step + ": " + shown.length + " counts as bars, from " + written(Math.min.apply(null, shown)) + " to " + written(Math.max.apply(null, shown));
  }
}(window.Explorer));
