/* From a setting to numbers: only look-ups, never a formula. Every number was computed by the package. */
(function (E) {
  "use strict";
  var plane = window.EXPLORER_PLANE;

  E.LAYERS = plane.layers;

  /* Arrays are packed as differences of rounded logarithms; "" stands for zero (a bound that says nothing). */
  function decode(array) {
    if (array.numbers) { return array.numbers; }
    var parts = array.packed.split(","), n = parts.length, numbers = new Float64Array(n), sum = 0;
    for (var i = 0; i < n; i += 1) {
      if (parts[i] !== "") { sum += Number(parts[i]); numbers[i] = Math.exp(sum / plane.scale); }
    }
    array.numbers = numbers;
    return numbers;
  }

  E.unpack = decode;
  /** All packed arrays. */
  E.packed = function () {
    var all = [];
    Object.keys(plane.modes).forEach(function (key) {
      plane.modes[key].bounds.concat(plane.modes[key].mechanisms).forEach(function (item) {
        ["C", "D", "upper"].forEach(function (what) { if (item[what]) { all.push(item[what]); } });
      });
    });
    return all;
  };

  /** The numbers of an array at some indices of its axes; the axis "node" is left whole. */
  function pick(mode, array, at) {
    var numbers = decode(array), start = 0, length = 1, nodes = false;
    array.axes.forEach(function (axis, k) {
      if (axis === "node") { nodes = true; length = array.shape[k]; }
      start = start * array.shape[k] + (axis === "node" ? 0 : at[axis]);
    });
    return nodes ? numbers.subarray(start, start + length) : numbers[start];
  }

  function index(stops, value) {
    var i = stops.indexOf(value);
    if (i < 0) { throw new Error("no node at " + value); }
    return i;
  }

  /** Join the points C(D) and D(C) of one curve, from small D to large; between them C is straight against log D. */
  function join(b, C, D, unit) {
    var points = [], out = [], i, k, t;
    for (i = 0; i < C.length; i += 1) { if (C[i] > 0) { points.push([b.sums[i] * unit, C[i] * unit]); } }
    for (i = 0; i < D.length; i += 1) { if (D[i] > 0) { points.push([D[i] * unit, b.counts[i] * unit]); } }
    points.sort(function (a, b) { return a[0] - b[0] || b[1] - a[1]; });
    points.forEach(function (p, j) {
      var q = points[j - 1];
      // Both axes are logarithmic, so a straight piece is drawn by a few points of it.
      for (k = 1; q && k < 4; k += 1) {
        t = k / 4;
        out.push([q[0] * Math.pow(p[0] / q[0], t), q[1] + (p[1] - q[1]) * t]);
      }
      out.push(p);
    });
    return { nodes: points, drawn: out };
  }

  E.indices = function (state) {
    var mode = plane.modes[state.privacy];
    return {
      level: index(mode.levels, state.privacy === "zcdp" ? state.rho : state.epsilon),
      delta: mode.deltas ? index(mode.deltas, state.delta) : 0,
      d: index(plane.points, state.d)
    };
  };

  /** The level of privacy in words. */
  E.level = function (v) {
    if (v.privacy === "zcdp") { return "ρ = " + E.exact(v.rho); }
    return "ε = " + E.exact(v.epsilon) + (v.privacy === "approximate" ? ", δ = " + E.exact(v.delta) : "");
  };

  function best(bounds, what) {
    return bounds.reduce(function (top, b) { return b[what] > (top ? top[what] : 0) ? b : top; }, null);
  }

  /** All numbers of a setting, in counts. */
  E.values = function (state) {
    var mode = plane.modes[state.privacy], at = E.indices(state), unit = mode.signed[at.level];
    var bounds = mode.bounds.map(function (b) {
      var C = pick(mode, b.C, at), D = pick(mode, b.D, at), joined = join(b, C, D, unit);
      return { key: b.key, title: b.title, C: C[index(b.sums, state.sum)] * unit, atSigned: C[index(b.sums, 1)] * unit, D: D[index(b.counts, 1)] * unit, nodes: joined.nodes, curve: joined.drawn };
    });
    var mechanisms = mode.mechanisms.map(function (m) {
      var out = { key: m.key, title: m.title, short: m.short, status: m.status, sure: m.sure, subject: m.subject, path: Boolean(m.path) };
      ["C", "D", "upper"].forEach(function (what) {
        if (!m[what]) { return; }
        var v = pick(mode, m[what], at);
        out[what] = m.path ? Array.prototype.map.call(v, function (x) { return x * unit; }) : v * unit;
      });
      return out;
    }).filter(function (m) { return m.path || m.C > 0; });  // Zero: not computed at this level.
    return {
      privacy: state.privacy, epsilon: state.privacy === "zcdp" ? null : state.epsilon,
      rho: state.privacy === "zcdp" ? state.rho : null, delta: state.privacy === "approximate" ? state.delta : null,
      d: state.d, unit: unit, sum: state.sum * unit, bounds: bounds, mechanisms: mechanisms,
      sharpestC: best(bounds, "C"), sharpestD: best(bounds, "D")
    };
  };

  /** For every number of counts, each bound on C at the chosen D, in multiples of the signed error. */
  E.prices = function (state) {
    var mode = plane.modes[state.privacy], at = E.indices(state);
    function over(array, node) {
      return plane.points.map(function (unused, i) {
        var v = pick(mode, array, { level: at.level, delta: at.delta, d: i });
        return node === null ? v : v[node];
      });
    }
    var known = mode.mechanisms.filter(function (m) { return m.key === "sum_first"; })[0];
    var reached = state.sum >= pick(mode, known.D, at) * (1 - 1e-6);
    return {
      points: plane.points,
      bounds: mode.bounds.map(function (b) { return { key: b.key, title: b.title, price: over(b.C, index(b.sums, state.sum)) }; }),
      known: reached ? over(known.C, null) : null,
      upper: reached && known.upper ? over(known.upper, null) : null
    };
  };
}(window.Explorer));
