/* A table of one's own: noise drawn and tables fitted in the page. */
(function (E) {
  "use strict";
  var ROWS = 6, COLUMNS = 8, LARGEST = 1e6;
  function by(id) { return document.getElementById(id); }

  /** Read whole numbers, one line a row; a sentence says what is wrong. */
  E.readTable = function (text) {
    var rows = text.split(/\n/).map(function (line) { return line.trim(); }).filter(Boolean).map(function (line) {
      return line.split(/\s+/);
    });
    if (!rows.length) { return { error: "Type counts: a line a row, numbers with spaces between." }; }
    var columns = rows[0].length, bad = [];
    rows.forEach(function (row) { row.forEach(function (n) { if (!/^\d+$/.test(n) || Number(n) > LARGEST) { bad.push(n); } }); });
    if (bad.length) { return { error: "“" + bad[0] + "” is not a count; counts are whole numbers from 0 to a million, with spaces between, without signs, points or commas." }; }
    if (rows.some(function (row) { return row.length !== columns; })) { return { error: "The lines have different numbers of counts; a table has as many in each line." }; }
    if (rows.length > ROWS || columns > COLUMNS || rows.length * columns < 2) {
      return { error: "The table has " + rows.length + " lines of " + columns + "; the page fits tables from 2 counts to " + ROWS + " lines of " + COLUMNS + "." };
    }
    return { rows: rows.length, columns: columns, cells: [].concat.apply([], rows).map(Number) };
  };

  function sums(cells, rows, columns) {
    var out = { cells: cells, rows: [], columns: [], sum: 0 };
    cells.forEach(function (x, i) {
      var r = Math.floor(i / columns), c = i % columns;
      out.rows[r] = (out.rows[r] || 0) + x; out.columns[c] = (out.columns[c] || 0) + x; out.sum += x;
    });
    return out;
  }

  /**
   * One draw: noisy answers and three fits, of a list (sum, counts) or a table (sum, rows, columns, counts).
   * Of a list the totals of its rows and columns are null: nobody measures them.
   */
  E.ownDraw = function (table, epsilon, seed) {
    var R = table.rows, C = table.columns, list = R === 1 || C === 1, truth = sums(table.cells, R, C);
    var scale = (list ? 2 : 4) / epsilon, noise = E.laplace(seed);
    function noisy(values) { return values.map(function (v) { return v + noise(scale); }); }
    function marginal(values) { return list ? values.map(function () { return null; }) : noisy(values); }
    var answers = { sum: truth.sum + noise(scale) };
    answers.rows = marginal(truth.rows);
    answers.columns = marginal(truth.columns);
    answers.cells = noisy(truth.cells);
    var fits = E.fitOwn(R, C, answers);
    return {
      truth: truth, noisy: answers, scale: scale, std: scale * Math.SQRT2,
      methods: [["ols", "OLS (signed)"], ["nnls", "NNLS"], ["sequential", "sequential"]].map(function (m) {
        var g = sums(fits[m[0]], R, C);
        return { key: m[0], title: m[1], fit: g, errors: [g.sum - truth.sum] };
      })
    };
  };

  E.drawOwn = function (state) {
    var table = E.readTable(by("own-text").value);
    by("own-error").hidden = !table.error;
    by("own-error").textContent = table.error || "";
    by("own-panels").hidden = Boolean(table.error);
    by("own-headline").textContent = table.error ? "" : E.ownSentence(table, state);
    return table.error || by("own-headline").textContent;
  };

  E.ownSentence = function (table, state) {
    var v = E.ownDraw(table, state.epsilon, state.draw);
    E.panels(by("own-panels"), v, v.std, "as typed");
    return "The true total is " + E.count(v.truth.sum, true) + ". The tables fitted say: " + v.methods.map(function (m) {
      return m.title + " " + E.count(m.fit.sum);
    }).join(", ") + ".";
  };
}(window.Explorer));
