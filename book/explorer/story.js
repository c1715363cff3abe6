/* The idea in five steps, on the small table that the book begins with; then it hands over to the sliders. */
(function (E) {
  "use strict";
  var data = window.EXPLORER_DRAWS, MARGIN = { top: 20, right: 8, bottom: 30, left: 46 };
  E.STEPS = 5;

  function written(x) { return (x < -0.049 ? "−" : "") + Math.abs(x).toFixed(1).replace(/\.0$/, ""); }
  function add(list) { return list.reduce(function (a, b) { return a + b; }, 0); }
  function most(a, b) { return Math.abs(a) > Math.abs(b); }

  /** The numbers of the story: one draw, clipped, and with its total kept. */
  E.storyValues = function (state) {
    var v = E.drawValues({ table: data.tables[0].key, level: state.level, draw: state.draw });
    var clipped = v.noisy.cells.map(function (a) { return Math.max(a, 0); });
    var kept = E.project(v.noisy.cells, Math.max(0, v.noisy.sum));
    return { draw: v, noisy: v.noisy.cells, clipped: clipped, kept: kept.x, level: kept.level, truth: v.table.truth,
      total: v.truth.sum, noisyTotal: v.noisy.sum, clippedTotal: add(clipped), keptTotal: add(kept.x) };
  };

  /** Title, and sentences chosen by the numbers, of each step. */
  E.storyText = function (s, step) {
    var negative = s.noisy.filter(function (a) { return a < 0; }).length, full = s.truth.indexOf(Math.max.apply(null, s.truth));
    var highest = s.noisy.indexOf(Math.max.apply(null, s.noisy));
    var gone = s.kept.filter(function (x) { return x === 0; }).length;
    var all = s.noisy.length, d = E.number(s.total);
    return [
      ["1. Signed answers", "A street of " + all + " houses, and " + d + " people, all in one house. Each count gets noise of its own, and so does the total. " +
        negative + " of the " + all + " answers are negative. The noisy total is " + written(s.noisyTotal) + "; the truth is " + d + "."],
      ["2. Clip", "Nobody publishes minus three people, so write 0 instead. Every count is now nearer to the truth or as near as before. But what was cut off was all on one side: the counts add up to " +
        written(s.clippedTotal) + ", and the truth is " + d + "."],
      ["3. Keep the sum", "Insist on the noisy total of " + written(s.noisyTotal) + ". The nearest nonnegative counts with that sum take the same amount off each house, as far as it goes. Now " +
        gone + " houses are empty, and the house of " + d + " publishes " + written(s.kept[full]) + "."],
      ["4. The level", "That amount is a water level, here " + written(s.level) + ". Only what rises above it stays. " + (highest === full ?
          "On this draw the full house still stands highest. " :
          "The level must rise nearly to the highest bar, and that is the largest noise of all " + all + " houses, not a house with people in it. ") +
        "With more houses the largest noise grows, and more people drown. " +
        (most(s.clippedTotal - s.total, s.keptTotal - s.total) ? "The total is better than in step 2; a count pays for it." : "On this draw the total is no better than in step 2; on average it is.")],
      ["5. The curve", "Clipping pays in the total, keeping the sum pays in a count. Once there are many counts, every private method that forbids negative ones pays in one of the two, on some table: that is the theorem. " +
        "Each curve below is such a limit. You choose where above it you pay."]
    ][step - 1];
  };

  E.drawStory = function (state) {
    var s = E.storyValues(state), step = state.step, text = E.storyText(s, step);
    document.getElementById("story-title").textContent = text[0];
    document.getElementById("story-text").textContent = text[1];
    document.getElementById("story-bars").hidden = step === 5;
    document.getElementById("story-curve").hidden = step !== 5;
    document.getElementById("story-back").disabled = step === 1;
    document.getElementById("story-next").hidden = step === 5;
    document.getElementById("story-plane").hidden = step !== 5;
    document.getElementById("story-count").textContent = step + " of " + E.STEPS;
    if (step < 5) { bars(s, step); }
    return text.join(". ");
  };

  function bars(s, step) {
    var svg = document.getElementById("story-svg"), width = Math.max(280, svg.clientWidth || 640), height = width < 520 ? 240 : 300;
    var shown = [s.noisy, s.clipped, s.kept, s.noisy][step - 1];
    var low = Math.min.apply(null, s.noisy), high = Math.max.apply(null, s.noisy.concat(s.truth)), pad = (high - low) * 0.06;
    var y = function (v) { return MARGIN.top + (high + pad - v) / (high - low + 2 * pad) * (height - MARGIN.top - MARGIN.bottom); };
    var slot = (width - MARGIN.left - MARGIN.right) / shown.length;
    svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    svg.style.height = height + "px";
    svg.replaceChildren();
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
    document.getElementById("story-caption").textContent = "Bars: " + ["the noisy counts", "the clipped counts", "the counts with the total kept", "the noisy counts; what rises above the level stays"][step - 1] +
      ". Short lines: the true counts. Total published: " + written([s.noisyTotal, s.clippedTotal, s.keptTotal, s.keptTotal][step - 1]) + ", true " + E.number(s.total) + ".";
    document.getElementById("story-name").textContent = "Step " + step + ": " + shown.length + " counts as bars, from " + written(Math.min.apply(null, shown)) + " to " + written(Math.max.apply(null, shown));
  }
}(window.Explorer));
