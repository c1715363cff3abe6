/* Small fits in the page: a list or a two-way table of one's own. Checked against the package, table by table. */
(function (E) {
  "use strict";

  /** The nearest nonnegative numbers with a given sum, and the level that is taken off each. */
  E.project = function (a, total) {
    if (total <= 0) { return { x: a.map(function () { return 0; }), level: Math.max.apply(null, a) }; }
    var sorted = Array.from(a).sort(function (p, q) { return q - p; }), sum = 0, level = 0;
    for (var k = 0; k < sorted.length; k += 1) {
      var g = (sum + sorted[k] - total) / (k + 1);
      if (sorted[k] <= g) { break; }
      level = g;
      sum += sorted[k];
    }
    return { x: a.map(function (v) { return Math.max(v - level, 0); }), level: level };
  };

  /** Solve A step = b for a symmetric positive definite matrix (Cholesky). */
  function solve(A, b) {
    var n = b.length, L = A.map(function (row) { return row.slice(); }), x = b.slice(), i, j, k;
    for (j = 0; j < n; j += 1) {
      for (k = 0; k < j; k += 1) { for (i = j; i < n; i += 1) { L[i][j] -= L[i][k] * L[j][k]; } }
      var d = Math.sqrt(L[j][j]);
      for (i = j; i < n; i += 1) { L[i][j] /= d; }
    }
    for (i = 0; i < n; i += 1) { for (k = 0; k < i; k += 1) { x[i] -= L[i][k] * x[k]; } x[i] /= L[i][i]; }
    for (i = n - 1; i >= 0; i -= 1) { for (k = i + 1; k < n; k += 1) { x[i] -= L[k][i] * x[k]; } x[i] /= L[i][i]; }
    return x;
  }

  /**
   * Minimise |x - a|^2 / 2 + sum_k (u_k x - b_k)^2 / (2 c_k) over x >= 0, where c_k = 0 holds the query k at b_k.
   * U lists the cells of each query. Semismooth Newton on the dual: x(y) = max(a - U'y, 0), F(y) = U x - b - c y.
   */
  E.leastSquares = function (a, U, b, c, signed) {
    var n = U.length, y = U.map(function () { return 0; }), scale = 1, i, j;
    a.concat(b).forEach(function (v) { scale = Math.max(scale, Math.abs(v)); });
    function at(z) {
      var t = a.slice();
      U.forEach(function (cells, k) { cells.forEach(function (i) { t[i] -= z[k]; }); });
      var x = t.map(function (v) { return signed ? v : Math.max(v, 0); });
      var F = U.map(function (cells, k) {
        return cells.reduce(function (s, i) { return s + x[i]; }, 0) - b[k] - c[k] * z[k];
      });
      var value = 0;
      x.forEach(function (v, i) { value += v * v / 2 - v * t[i]; });
      z.forEach(function (v, k) { value -= v * b[k] + c[k] * v * v / 2; });
      return { x: x, F: F, value: value, off: Math.max.apply(null, F.map(Math.abs)) };
    }
    var now = at(y);
    for (var turn = 0; turn < 200 && now.off > 1e-11 * scale; turn += 1) {
      var A = [];
      for (i = 0; i < n; i += 1) {
        A.push([]);
        var inside = {};
        U[i].forEach(function (cell) { if (signed || now.x[cell] > 0) { inside[cell] = true; } });
        for (j = 0; j < n; j += 1) {
          A[i].push(U[j].reduce(function (s, cell) { return s + (inside[cell] ? 1 : 0); }, 0));
        }
        A[i][i] += c[i] + 1e-9;
      }
      var step = solve(A, now.F), length = 1, next = null;
      var slope = step.reduce(function (s, v, k) { return s + v * now.F[k]; }, 0);
      for (var half = 0; half < 60; half += 1) {
        next = at(y.map(function (v, k) { return v + length * step[k]; }));
        // Near the end rounding hides the gain in value; there a smaller residual decides.
        if (next.value >= now.value + 1e-4 * length * slope || next.off < 0.5 * now.off) { break; }
        length /= 2;
      }
      y = y.map(function (v, k) { return v + length * step[k]; });
      now = next;
    }
    return now.x;
  };

  function queries(rows, columns) {
    var all = [], byRow = [], byColumn = [], i;
    for (i = 0; i < rows * columns; i += 1) {
      all.push(i);
      (byRow[Math.floor(i / columns)] = byRow[Math.floor(i / columns)] || []).push(i);
      (byColumn[i % columns] = byColumn[i % columns] || []).push(i);
    }
    return { all: all, rows: byRow, columns: byColumn };
  }

  /** Fit noisy answers {sum, rows, columns, cells} of equal noise; a list has one row and asks no marginals. */
  E.fitOwn = function (rows, columns, noisy) {
    var q = queries(rows, columns), list = rows === 1 || columns === 1;
    var U = [q.all], b = [noisy.sum];
    if (!list) { U = U.concat(q.rows, q.columns); b = b.concat(noisy.rows, noisy.columns); }
    var ones = U.map(function () { return 1; });
    var total = Math.max(0, noisy.sum), last;
    if (list) { last = E.project(noisy.cells, total).x; } else {
      var R = E.project(noisy.rows, total).x, C = E.project(noisy.columns, total).x;
      var open = q.all.filter(function (i) { return R[Math.floor(i / columns)] > 0 && C[i % columns] > 0; });
      var place = {}, H = [], held = [];
      open.forEach(function (i, k) { place[i] = k; });
      [[q.rows, R], [q.columns, C]].forEach(function (pair) {
        pair[0].forEach(function (cells, k) {
          var mine = cells.filter(function (i) { return place[i] !== undefined; });
          // A query held at zero has pinned its cells to zero.
          if (mine.length) { H.push(mine.map(function (i) { return place[i]; })); held.push(pair[1][k]); }
        });
      });
      var part = open.length ? E.leastSquares(open.map(function (i) { return noisy.cells[i]; }), H, held, H.map(function () { return 0; })) : [];
      last = q.all.map(function () { return 0; });
      open.forEach(function (i, k) { last[i] = part[k]; });
    }
    return {
      ols: E.leastSquares(noisy.cells, U, b, ones, true),
      nnls: E.leastSquares(noisy.cells, U, b, ones, false),
      sequential: last
    };
  };

  /** Noise that can be drawn again: a small generator (mulberry32) and the law it is turned into. */
  E.laplace = function (seed) {
    return function (scale) {
      seed = (seed + 0x6D2B79F5) | 0;
      var t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      var u = (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296 - 0.5;
      return -scale * Math.sign(u) * Math.log(1 - 2 * Math.abs(u));
    };
  };
}(window.Explorer));
