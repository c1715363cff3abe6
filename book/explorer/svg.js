/* Small helpers to draw with: elements, logarithmic scales, labels that do not overlap. */
(function (E) {
  "use strict";
  var NS = "http://www.w3.org/2000/svg";

  E.el = function (parent, name, attributes, text) {
    var node = document.createElementNS(NS, name);
    Object.keys(attributes || {}).forEach(function (key) { node.setAttribute(key, attributes[key]); });
    if (text !== undefined) { node.textContent = text; }
    parent.appendChild(node);
    return node;
  };

  /** A scale from the logarithms [low, high] to the pixels [from, to]. */
  E.scale = function (low, high, from, to) {
    var k = (to - from) / (high - low);
    var f = function (value) { return from + (Math.log10(value) - low) * k; };
    f.low = low; f.high = high; f.from = from; f.to = to;
    f.invert = function (pixel) { return Math.pow(10, low + (pixel - from) / k); };
    return f;
  };

  E.line = function (points) {
    return points.map(function (p, i) { return (i ? "L" : "M") + p[0].toFixed(1) + " " + p[1].toFixed(1); }).join("");
  };

  /* Marks of the book: signed answers a star, clipping a square, mapped or not, keeping the sum a diamond, others a disc. */
  var SHAPES = {
    signed: "M0 -8L2 -2.6 7.6 -2.5 3.1 1 4.7 6.5 0 3.3 -4.7 6.5 -3.1 1 -7.6 -2.5 -2 -2.6Z",
    counts_first: "M-5.5 -5.5H5.5V5.5H-5.5Z", mapped: "M-5.5 -5.5H5.5V5.5H-5.5Z", sum_first: "M0 -7.5L7.5 0 0 7.5 -7.5 0Z"
  };
  E.mark = function (parent, key, x, y, attributes) {
    var d = SHAPES[key] || "M-6 0A6 6 0 1 0 6 0A6 6 0 1 0 -6 0Z";
    return E.el(parent, "path", Object.assign({ d: d, transform: "translate(" + x + " " + y + ")", class: "mechanism " + key }, attributes));
  };

  /** Places for labels: the first candidate that touches nothing placed before. */
  E.Placer = function (box) {
    var taken = [];
    function free(b) {
      if (b.x0 < box.x0 || b.x1 > box.x1 || b.y0 < box.y0 || b.y1 > box.y1) { return false; }
      return taken.every(function (t) { return b.x1 < t.x0 || b.x0 > t.x1 || b.y1 < t.y0 || b.y0 > t.y1; });
    }
    this.block = function (x, y, r) { taken.push({ x0: x - r, x1: x + r, y0: y - r, y1: y + r }); };
    this.blockBox = function (b) { taken.push(b); };
    /** Candidates are {x, y, anchor}, y being the baseline; returns the one taken, or null. */
    this.place = function (width, height, candidates) {
      for (var i = 0; i < candidates.length; i += 1) {
        var c = candidates[i];
        var x0 = c.anchor === "end" ? c.x - width : c.anchor === "middle" ? c.x - width / 2 : c.x;
        var b = { x0: x0 - 2, x1: x0 + width + 2, y0: c.y - height * 0.8, y1: c.y + height * 0.28 };
        if (free(b)) { taken.push(b); return c; }
      }
      return null;
    };
  };

  // Widths are estimated, not measured: measuring would force a layout on every move.
  E.width = function (text, size) { return text.length * size * 0.53; };
}(window.Explorer));
