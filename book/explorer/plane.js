/* The C-D plane: what no microdata mechanism can do, and what some do. */
(function (E) {
  "use strict";
  var MARGIN = { top: 30, right: 14, bottom: 46, left: 58 };
  var svg, frame = null;

  /** The window: what is shown follows the signed error, so that the picture keeps its place when the level moves. */
  function scales(v, width, height) {
    var right = 30, top = 6;
    v.mechanisms.forEach(function (m) {
      [].concat(m.D).forEach(function (x) { right = Math.max(right, x / v.unit); });
      [].concat(m.C, m.upper || []).forEach(function (y) { top = Math.max(top, y / v.unit); });
    });
    var unit = Math.log10(v.unit);
    return {
      x: E.scale(unit + Math.log10(0.3), unit + Math.log10(right * 3), MARGIN.left, width - MARGIN.right),
      y: E.scale(unit + Math.log10(0.22), unit + Math.log10(top * 1.35), height - MARGIN.bottom, MARGIN.top)
    };
  }

  function axes(g, x, y, width, height) {
    var bottom = height - MARGIN.bottom, right = width - MARGIN.right, across = (right - MARGIN.left) / 62, up = (bottom - MARGIN.top) / 34;
    E.ticks(x.low, x.high, across).forEach(function (t) {
      var px = x(t.value);
      E.el(g, "line", { x1: px, x2: px, y1: MARGIN.top, y2: bottom, class: "grid" });
      E.el(g, "text", { x: px, y: bottom + 17, class: "tick", "text-anchor": "middle" }, E.exact(t.value));
    });
    E.ticks(y.low, y.high, up).forEach(function (t) {
      var py = y(t.value);
      E.el(g, "line", { x1: MARGIN.left, x2: right, y1: py, y2: py, class: "grid" });
      E.el(g, "text", { x: MARGIN.left - 7, y: py + 4, class: "tick", "text-anchor": "end" }, E.exact(t.value));
    });
    E.el(g, "text", { x: right, y: bottom + 37, class: "axis", "text-anchor": "end" }, "error of the sum, D →");
    E.el(g, "text", { x: MARGIN.left - 50, y: MARGIN.top - 14, class: "axis" }, "↑ error of a count, C");
  }

  var clip = E.clip = function (points, x, y) {
    // Keep one point beyond each edge, so that lines reach the frame; the clip path hides the rest.
    var low = Math.pow(10, x.low), high = Math.pow(10, x.high), floor = Math.pow(10, y.low);
    return points.filter(function (p, i) {
      var next = points[i + 1], before = points[i - 1];
      return (p[0] >= low || (next && next[0] >= low)) && (p[0] <= high || (before && before[0] <= high)) &&
        (p[1] >= floor || (before && before[1] >= floor));
    }).map(function (p) { return [x(p[0]), y(p[1])]; });
  };

  function envelope(bounds, x, y) {
    // The union of the regions below the curves, drawn as overlapping fills of one group with one opacity.
    return bounds.map(function (b) {
      var p = clip(b.curve, x, y);
      if (p.length < 2) { return ""; }
      var left = x.from, bottom = y.from;
      return "M" + left + " " + bottom + "L" + left + " " + p[0][1].toFixed(1) + E.line(p).replace(/^M/, "L") +
        "L" + p[p.length - 1][0].toFixed(1) + " " + bottom + "Z";
    }).join("");
  }

  E.drawPlane = function (v, hide, onSum) {
    svg = svg || document.getElementById("plane");
    var width = Math.max(280, svg.clientWidth || 640), narrow = width < 520;
    var height = narrow ? Math.round(Math.min(width * 0.95, window.innerHeight * 0.5)) : Math.round(Math.min(560, width * 0.72, Math.max(400, window.innerHeight * 0.6)));
    svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    svg.style.height = height + "px";
    var old = svg.querySelector("g.all");
    if (old) { old.remove(); }
    var g = E.el(svg, "g", { class: "all" }), s = scales(v, width, height), x = s.x, y = s.y;
    frame = { x: x, y: y, onSum: onSum, v: v, bounds: v.bounds.filter(function (b) { return hide.indexOf(b.key) < 0; }) };
    var shown = function (key) { return hide.indexOf(key) < 0; };
    var box = { x0: MARGIN.left, x1: width - MARGIN.right, y0: MARGIN.top, y1: height - MARGIN.bottom };
    var id = E.el(g, "clipPath", { id: "plane-clip" });
    E.el(id, "rect", { x: box.x0, y: box.y0, width: box.x1 - box.x0, height: box.y1 - box.y0 });

    var bounds = v.bounds.filter(function (b) { return shown(b.key); });
    var mechanisms = v.mechanisms.filter(function (m) { return shown(m.key); });
    var inside = E.el(g, "g", { "clip-path": "url(#plane-clip)" });
    E.el(inside, "path", { d: envelope(bounds, x, y), class: "region" });
    axes(g, x, y, width, height);
    var curves = E.el(g, "g", { "clip-path": "url(#plane-clip)" });
    bounds.forEach(function (b) { E.el(curves, "path", { d: E.line(clip(b.curve, x, y)), class: "bound " + b.key }); });
    E.el(curves, "line", { x1: x(v.sum), x2: x(v.sum), y1: box.y0, y2: box.y1, class: "cursor" });
    mechanisms.forEach(function (m) {
      if (!m.path) { return; }
      E.el(curves, "path", { d: E.line(m.D.map(function (D, i) { return [x(D), y(m.C[i])]; })), class: "mechanism-path " + m.key });
      // Where few places were computed they are marked, so that the corners between explain themselves.
      if (m.C.length < 12) { m.D.forEach(function (D, i) { E.el(curves, "circle", { cx: x(D), cy: y(m.C[i]), r: 2.6, class: "node" }); }); }
    });
    // A label may hang over the axis on the left, but not over its numbers.
    var placer = new E.Placer({ x0: box.x0 - 12, x1: box.x1, y0: box.y0, y1: box.y1 });
    E.ticks(y.low, y.high, (box.y1 - box.y0) / 34).forEach(function (t) {
      placer.blockBox({ x0: 0, x1: box.x0 - 6, y0: y(t.value) - 5, y1: y(t.value) + 5 });
    });
    // Labels keep clear of the curves: small boxes stand for them.
    function avoid(points) {
      points.forEach(function (p, i) {
        var q = points[i - 1] || p, n = Math.max(1, Math.ceil(Math.hypot(p[0] - q[0], p[1] - q[1]) / 10));
        for (var k = 1; k <= n; k += 1) { placer.block(q[0] + (p[0] - q[0]) * k / n, q[1] + (p[1] - q[1]) * k / n, 2.5); }
      });
    }
    bounds.forEach(function (b) { avoid(clip(b.curve, x, y)); });
    mechanisms.forEach(function (m) { if (m.path) { avoid(m.D.map(function (D, i) { return [x(D), y(m.C[i])]; })); } });
    mechanisms.forEach(function (m) {
      if (m.path) { return; }
      if (m.upper) {
        E.el(curves, "line", { x1: x(m.D), x2: x(m.D), y1: y(m.C), y2: y(m.upper), class: "reach" });
        E.el(curves, "line", { x1: x(m.D) - 6, x2: x(m.D) + 6, y1: y(m.upper), y2: y(m.upper), class: "reach" });
        avoid([[x(m.D), y(m.C)], [x(m.D), y(m.upper)]]);
      }
      var says = m.title + ": C = " + E.told(m, m.C) + (m.upper ? " on its worst table, at most " + E.atMost(m.upper) : "") + ", D = " + E.told(m, m.D);
      var mark = E.mark(curves, m.key, x(m.D), y(m.C), { tabindex: 0, role: "img", "aria-label": says });
      ["focus", "pointerenter"].forEach(function (name) { mark.addEventListener(name, function () { readout(says + "."); }); });
      placer.block(x(m.D), y(m.C), 8);
    });
    var best = v.sharpestC && bounds.filter(function (b) { return b.C > 0; }).reduce(function (a, b) { return !a || b.C > a.C ? b : a; }, null);
    if (best) {
      E.el(curves, "circle", { cx: x(v.sum), cy: y(best.C), r: 4.5, class: "cursor-dot" });
      placer.block(x(v.sum), y(best.C), 6);
    }
    label(g, placer, x, y, v, bounds, mechanisms, best, narrow, box);
  };

  function label(g, placer, x, y, v, bounds, mechanisms, best, narrow, box) {
    var size = narrow ? 12 : 13;
    function put(text, css, candidates) {
      var c = placer.place(E.width(text, size), size, candidates);
      if (c) { E.el(g, "text", { x: c.x, y: c.y, class: "label " + css, "text-anchor": c.anchor || "start", "font-size": size }, text); }
      return Boolean(c);
    }
    if (best) {
      var cx = x(v.sum), cy = y(best.C);
      put("C ≥ " + E.atLeast(best.C), "strong " + best.key, [
        { x: cx + 9, y: cy - 8 }, { x: cx - 9, y: cy - 8, anchor: "end" }, { x: cx + 9, y: cy + 18 }, { x: cx + 9, y: cy - 24 }
      ]);
    }
    mechanisms.forEach(function (m) {
      if (m.path) { return; }
      var px = x(m.D), py = y(m.C), near = [
        { x: px + 11, y: py + 4 }, { x: px - 11, y: py + 4, anchor: "end" }, { x: px, y: py - 13, anchor: "middle" },
        { x: px, y: py + 22, anchor: "middle" }, { x: px + 9, y: py - 12 }, { x: px + 9, y: py + 22 },
        { x: px - 9, y: py - 12, anchor: "end" }, { x: px - 9, y: py + 22, anchor: "end" }
      ];
      if (!(!narrow && put(m.title, m.key, near))) { put(m.short, m.key, near); }
    });
    mechanisms.forEach(function (m) {
      if (!m.path) { return; }
      [0.5, 0.35, 0.65, 0.2, 0.8, 0.95].some(function (share) {
        var i = Math.round(share * (m.C.length - 1)), px = x(m.D[i]), py = y(m.C[i]);
        return put(narrow ? m.short : m.title, m.key, [
          { x: px + 8, y: py - 8 }, { x: px, y: py - 12, anchor: "middle" }, { x: px - 8, y: py + 16, anchor: "end" }, { x: px + 10, y: py - 26 }
        ]);
      });
    });
    // Bounds are named along their flat part, from the sharpest down.
    bounds.slice().sort(function (a, b) { return b.C - a.C; }).forEach(function (b) {
      var p = clip(b.curve, x, y);
      if (p.length < 2) { return; }
      function at(target) {
        for (var i = 1; i < p.length; i += 1) {
          if (p[i][0] >= target) {
            var t = (target - p[i - 1][0]) / Math.max(1e-9, p[i][0] - p[i - 1][0]);
            return p[i - 1][1] + Math.max(0, Math.min(1, t)) * (p[i][1] - p[i - 1][1]);
          }
        }
        return null;
      }
      var plain = b.title.replace(/ \(.*\)/, "");
      (narrow ? [plain, plain.split(",")[0]] : [b.title, plain, plain.split(",")[0]]).some(function (text) {
        for (var share = 0.02; share < 0.9; share += 0.03) {
          var target = box.x0 + 6 + share * (box.x1 - box.x0), py = at(target);
          if (py === null) { return false; }
          if (put(text, "bound-label " + b.key, [{ x: target, y: py - 8 }, { x: target, y: py + 18 }])) { return true; }
        }
        return false;
      });
    });
    regionLabel(put, x, y, bounds, box, size);
  }

  /** How high the shade reaches at a place across, in pixels; null where nothing is proved. */
  function shade(bounds, x, y, across) {
    var top = null;
    bounds.forEach(function (b) {
      var p = clip(b.curve, x, y), height = null;
      if (p.length < 2) { return; }
      if (across <= p[0][0]) { height = p[0][1]; }
      for (var i = 1; height === null && i < p.length; i += 1) {
        if (across <= p[i][0]) {
          height = p[i - 1][1] + (across - p[i - 1][0]) / Math.max(1e-9, p[i][0] - p[i - 1][0]) * (p[i][1] - p[i - 1][1]);
        }
      }
      if (height !== null && (top === null || height < top)) { top = height; }
    });
    return top;
  }

  /** The claim stands only where it is proved: all of its letters in the shade, or it is not made. */
  function regionLabel(put, x, y, bounds, box, size) {
    var text = "no microdata here", width = E.width(text, size) + 6, found = false;
    for (var share = 0.02; share < 0.7 && !found; share += 0.04) {
      var left = box.x0 + 6 + share * (box.x1 - box.x0), top = shade(bounds, x, y, left + width);
      for (var base = box.y1 - 12; top !== null && base - size > Math.max(top, box.y0) + 4 && !found; base -= 18) {
        found = put(text, "region-label", [{ x: left, y: base }]);
      }
    }
  }

  function readout(text) { document.getElementById("readout").textContent = text; }

  /** What is proved where the pointer is: by computed places alone, at this error of the sum or a larger one. */
  function say(across) {
    var D = Number(frame.x.invert(across).toPrecision(3)), least = 0;
    frame.bounds.forEach(function (b) {
      b.nodes.forEach(function (p) { if (p[0] >= D) { least = Math.max(least, p[1]); } });
    });
    readout(least === 0 ? "At D = " + E.number(D) + " the curves drawn say nothing of C." :
      "At D = " + E.number(D) + ": C is at least " + E.atLeast(least) + " on some table, by the curves drawn.");
  }

  /** A finger or a mouse on the plane moves the sum's error; up and down it still scrolls the page. */
  E.listenPlane = function () {
    var node = document.getElementById("plane"), down = false;
    function move(event) {
      if (!frame) { return; }
      var box = node.getBoundingClientRect();
      frame.onSum(frame.x.invert((event.clientX - box.left) * (node.viewBox.baseVal.width / box.width)));
    }
    node.addEventListener("pointerdown", function (event) {
      down = true;
      try { node.setPointerCapture(event.pointerId); } catch (error) { /* a pointer that is gone */ }
      move(event);
    });
    node.addEventListener("pointermove", function (event) {
      if (down) { move(event); } else if (frame && !event.target.classList.contains("mechanism")) {
        var box = node.getBoundingClientRect();
        say((event.clientX - box.left) * (node.viewBox.baseVal.width / box.width));
      }
    });
    ["pointerup", "pointercancel"].forEach(function (name) { node.addEventListener(name, function () { down = false; }); });
  };
}(window.Explorer));
