/* How numbers are written. */
window.Explorer = window.Explorer || {};
(function (E) {
  "use strict";
  var SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  function raised(n) { return String(n).split("").map(function (c) { return SUPERSCRIPTS[c]; }).join(""); }

  function grouped(text) {
    var pieces = text.split(".");
    pieces[0] = pieces[0].replace(/\B(?=(\d{3})+$)/g, ",");
    return pieces.join(".");
  }

  /** As the book writes numbers: three significant digits, whole numbers below a million in full. */
  E.number = function (x, digits) {
    digits = digits || 3;
    if (x === 0) { return "0"; }
    if (!isFinite(x)) { return "∞"; }
    var sign = x < 0 ? "−" : "", a = Math.abs(x);
    if (a === Math.floor(a) && a < 1e6) { return sign + grouped(String(a)); }
    // A value that is short already, such as the level 0.5, gets no zeros at its end.
    var own = String(a).replace(/e.*$/, "").replace(".", "").replace(/^0+|0+$/g, "").length;
    digits = Math.min(digits, own);
    var parts = a.toExponential(digits - 1).split("e"), power = parseInt(parts[1], 10);
    if (power < -4 || power >= 6) {
      var short = parts[0].indexOf(".") < 0 ? parts[0] : parts[0].replace(/\.?0+$/, "");
      return sign + (short === "1" ? "" : short + " × ") + "10" + raised(power);
    }
    return sign + grouped(Number(parts.join("e")).toFixed(Math.max(0, digits - 1 - power)));
  };

  /** A bound in three digits: a lower one is never rounded up, an upper one never down. */
  function outward(x, digits, round) {
    if (x === 0 || !isFinite(x) || (x === Math.floor(x) && x < 1e6)) { return E.number(x); }
    var power = Math.floor(Math.log10(x)) + 1 - digits, scaled = Number((x * Math.pow(10, -power)).toPrecision(14));
    return E.number(Number(round(scaled) + "e" + power), digits);
  }
  E.atLeast = function (x, digits) { return outward(x, digits || 3, Math.floor); };
  E.atMost = function (x, digits) { return outward(x, digits || 3, Math.ceil); };
  /** An error of a mechanism: a certified one is an upper bound. */
  E.told = function (m, x) { return m.sure === "certified" ? E.atMost(x) : E.number(x); };

  /** A noisy count, wherever one is written: one decimal below a hundred, whole above. */
  E.count = function (x, whole) {
    // Sums that differ by rounding alone are written alike.
    var a = Math.abs(x) + 1e-9, small = a < 99.95 && !whole;
    var text = small ? (Math.floor(10 * a + 0.5) / 10).toFixed(1).replace(/\.0$/, "") : grouped(String(Math.round(a)));
    return (x < 0 && text !== "0" ? "−" : "") + text;
  };

  /** A setting as it was chosen: no digits added, none lost. */
  E.exact = function (x) {
    if (x >= 1e6 || x < 1e-3) {
      var parts = x.toExponential().split("e");
      return (parts[0] === "1" ? "" : parts[0] + " × ") + "10" + raised(parseInt(parts[1], 10));
    }
    return grouped(String(x));
  };

  /** Ticks of a logarithmic axis between two logarithms: powers of ten, with 2 and 5 when there is room for so many. */
  E.ticks = function (low, high, most) {
    var out = [], every = Math.max(1, Math.ceil((high - low) / most));
    var fine = high - low < 2.2 && 3 * (high - low) <= most ? [1, 2, 5] : [1];
    for (var p = Math.floor(low); p <= Math.ceil(high); p += 1) {
      if (p % every !== 0) { continue; }
      fine.forEach(function (m) {
        var t = p + Math.log10(m);
        if (t >= low - 1e-9 && t <= high + 1e-9) { out.push({ at: t, value: Number((m * Math.pow(10, p)).toPrecision(6)) }); }
      });
    }
    return out;
  };
}(window.Explorer));
