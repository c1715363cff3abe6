/* The price against d: how much of it is proved, and what a known mechanism pays. */
(function (E) {
  "use strict";
  var MARGIN = { top: 14, right: 20, bottom: 44, left: 58 };

  E.drawPrice = function (state, hide) {
    var svg = document.getElementById("price"), p = E.prices(state);
    var width = Math.max(280, svg.clientWidth || 640), height = width < 520 ? 230 : 270;
    svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    svg.style.height = height + "px";
    svg.replaceChildren();
    var top = 4, bounds = p.bounds.filter(function (b) { return hide.indexOf(b.key) < 0; });
    bounds.forEach(function (b) { top = Math.max(top, Math.max.apply(null, b.price)); });
    if (p.known && hide.indexOf("sum_first") < 0) { top = Math.max(top, Math.max.apply(null, p.known)); }
    top *= 1.12;
    var x = E.scale(Math.log10(p.points[0]), Math.log10(p.points[p.points.length - 1]), MARGIN.left, width - MARGIN.right);
    var y = function (price) { return height - MARGIN.bottom - price / top * (height - MARGIN.bottom - MARGIN.top); };
    var bottom = height - MARGIN.bottom, step = [1, 2, 5, 10, 20].filter(function (s) { return top / s <= 6; })[0] || 50;
    E.ticks(x.low, x.high, (x.to - x.from) / 58).forEach(function (t) {
      E.el(svg, "text", { x: x(t.value), y: bottom + 17, class: "tick", "text-anchor": "middle" }, E.exact(t.value));
    });
    for (var s = 0; s <= top; s += step) {
      E.el(svg, "line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: y(s), y2: y(s), class: "grid" });
      E.el(svg, "text", { x: MARGIN.left - 7, y: y(s) + 4, class: "tick", "text-anchor": "end" }, s + "×");
    }
    E.el(svg, "text", { x: width - MARGIN.right, y: bottom + 36, class: "axis", "text-anchor": "end" }, "number of counts, d →");
    E.el(svg, "line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: y(1), y2: y(1), class: "signed-line" });
    E.el(svg, "line", { x1: x(state.d), x2: x(state.d), y1: MARGIN.top, y2: bottom, class: "cursor" });
    var placer = new E.Placer({ x0: MARGIN.left, x1: width - MARGIN.right, y0: MARGIN.top - 6, y1: bottom });
    function name(text, css, list) {
      for (var i = list.length - 3; i > 2; i -= 1) {
        if (!(list[i] > 0)) { continue; }
        var c = placer.place(E.width(text, 13), 13, [
          { x: x(p.points[i]), y: y(list[i]) - 9, anchor: "end" }, { x: x(p.points[i]), y: y(list[i]) + 20, anchor: "start" }
        ]);
        if (c) { E.el(svg, "text", { x: c.x, y: c.y, class: "label " + css, "text-anchor": c.anchor, "font-size": 13 }, text); return; }
      }
    }
    function curve(list, css) {
      var points = [];
      list.forEach(function (price, i) { points.push([x(p.points[i]), y(price)]); });
      E.el(svg, "path", { d: E.line(points), class: css });
      points.forEach(function (q) { placer.block(q[0], q[1], 5); });
    }
    bounds.forEach(function (b) { curve(b.price, "bound " + b.key); });
    if (p.known && hide.indexOf("sum_first") < 0) { curve(p.known, "mechanism-path sum_first"); name("keep the sum pays, on its worst table", "sum_first", p.known); }
    bounds.slice().sort(function (a, b) { return b.price[b.price.length - 1] - a.price[a.price.length - 1]; })
      .forEach(function (b) { name(b.title, "bound-label " + b.key, b.price); });
    var at = p.points.indexOf(state.d);
    bounds.forEach(function (b) { E.el(svg, "circle", { cx: x(state.d), cy: y(b.price[at]), r: 3.5, class: "dot " + b.key }); });
    document.getElementById("price-caption").textContent =
      "How many times the signed error a count must have on some table, when the sum’s error is at most " + E.exact(state.sum) +
      "× the signed error. Signed answers are at 1×.";
  };
}(window.Explorer));
