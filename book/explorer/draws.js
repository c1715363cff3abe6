/* One small table, its noisy answers and what the methods make of them, draw after draw. */
(function (E) {
  "use strict";
  var data = window.EXPLORER_DRAWS;

  function unpack(block) {
    if (!block.numbers) {
      var sum = 0;
      block.numbers = block.packed.split(",").map(function (x) { sum += Number(x); return sum / data.scale; });
    }
    return block.numbers;
  }

  function find(list, key) { return list.filter(function (item) { return item.key === key; })[0]; }

  function grid(cells, rows, columns) {
    var out = { cells: cells, rows: [], columns: [], sum: 0 };
    for (var r = 0; r < rows; r += 1) {
      out.rows.push(0);
      for (var c = 0; c < columns; c += 1) {
        var x = cells[r * columns + c];
        out.rows[r] += x; out.columns[c] = (out.columns[c] || 0) + x; out.sum += x;
      }
    }
    return out;
  }

  /** Everything that one draw shows, and the running means of the draws up to it. */
  E.drawValues = function (state) {
    var table = find(data.tables, state.table), run = data.runs[state.table + "|" + state.level];
    var R = table.rows, C = table.columns, cells = R * C, all = 1 + R + C + cells, at = state.draw - 1;
    var noisy = unpack(run.noisy).slice(at * all, (at + 1) * all), truth = grid(table.truth, R, C);
    var methods = data.methods.map(function (m) {
      var numbers = unpack(run.fits[m.key]), sums = [], squares = 0, total = 0;
      for (var k = 0; k <= at; k += 1) {
        var one = numbers.slice(k * cells, (k + 1) * cells), sum = 0;
        one.forEach(function (x, i) { sum += x; total += (x - table.truth[i]) * (x - table.truth[i]); });
        sums.push(sum - truth.sum);
      }
      sums.forEach(function (e) { squares += e * e; });
      return {
        key: m.key, title: m.title, fit: grid(numbers.slice(at * cells, (at + 1) * cells), R, C), errors: sums,
        bias: sums.reduce(function (a, b) { return a + b; }, 0) / sums.length,
        sumSquared: squares / sums.length, cellsSquared: total / sums.length, expected: run.expected[m.key]
      };
    });
    return {
      table: table, level: find(data.levels, state.level), draw: state.draw, draws: data.draws, truth: truth,
      noisy: { sum: noisy[0], rows: noisy.slice(1, 1 + R), columns: noisy.slice(1 + R, 1 + R + C), cells: noisy.slice(1 + R + C) },
      methods: methods
    };
  };

  var written = E.count;

  function fill(node, value, truth, std, css) {
    node.textContent = value === null ? "" : written(value, truth === null);
    if (value !== null && truth !== null) {
      var off = Math.max(-1, Math.min(1, (value - truth) / (2.5 * std)));
      node.style.setProperty("--off", Math.abs(off).toFixed(2));
      css += off > 0.04 ? " high" : off < -0.04 ? " low" : "";
    }
    if (value < -0.049) { css += " negative"; }
    node.className = css.trim();
  }

  /* A table's numbers as they are read, row by row with totals, and what each is; null is what was not asked. */
  function inOrder(g) {
    var out = [], C = g.columns.length;
    g.rows.forEach(function (sum, r) {
      g.columns.forEach(function (unused, c) { out.push([g.cells[r * C + c], ""]); });
      out.push([sum, "total"]);
    });
    g.columns.forEach(function (x) { out.push([x, "total"]); });
    out.push([g.sum, "total sum"]);
    return out;
  }

  function hidden(row, text, scope) {
    var th = document.createElement("th");
    th.scope = scope;
    th.innerHTML = "<span class=\"visually-hidden\"></span>";
    th.firstChild.textContent = text;
    row.appendChild(th);
  }

  function panel(parent, key, title, g, wide) {
    var section = document.createElement("section"), table = document.createElement("table");
    section.className = "panel " + key;
    section.innerHTML = "<h3></h3><p></p>";
    section.firstChild.textContent = title;
    var head = document.createElement("thead"), body = document.createElement("tbody"), top = document.createElement("tr");
    hidden(top, "row", "col");
    g.columns.forEach(function (unused, c) { hidden(top, "column " + (c + 1), "col"); });
    hidden(top, "row total", "col");
    head.appendChild(top);
    g.rows.concat([0]).forEach(function (unused, r) {
      var row = document.createElement("tr");
      hidden(row, r < g.rows.length ? "row " + (r + 1) : "column total", "row");
      for (var c = 0; c <= g.columns.length; c += 1) { row.appendChild(document.createElement("td")); }
      body.appendChild(row);
    });
    table.append(head, body);
    section.appendChild(table);
    if (wide) { section.tabIndex = 0; section.setAttribute("aria-label", title); }
    parent.appendChild(section);
  }

  /** The true table, the noisy answers and every fit, each as a table; kept while its shape is. */
  E.panels = function (parent, v, std, why) {
    var all = [["truth", "True table", why, v.truth], ["noisy", "Noisy answers", "each answer with its own noise", v.noisy]];
    v.methods.forEach(function (m) {
      var e = m.errors[m.errors.length - 1], off = m.fit.cells.map(function (x, i) { return Math.abs(x - v.truth.cells[i]); });
      var mean = off.reduce(function (a, b) { return a + b; }, 0) / off.length;
      all.push([m.key, m.title, "total " + (Math.abs(e) < 0.05 ? "right" : written(Math.abs(e)) + (e > 0 ? " too high" : " too low")) +
        "; counts off by " + written(mean) + " on average, " + written(Math.max.apply(null, off)) + " at worst", m.fit]);
    });
    // Numbers too long for a narrow column get more room.
    var wide = inOrder(v.truth).concat(inOrder(v.noisy)).some(function (x) { return Math.abs(x[0]) >= 1e5; });
    parent.classList.toggle("wide", wide);
    var shape = wide + all.map(function (p) { return p[0] + p[3].rows.length + "x" + p[3].columns.length; }).join();
    if (parent.dataset.shape !== shape) {
      var fresh = document.createDocumentFragment();
      all.forEach(function (p) { panel(fresh, p[0], p[1], p[3], wide); });
      parent.replaceChildren(fresh);
      parent.dataset.shape = shape;
    }
    var truth = inOrder(v.truth);
    all.forEach(function (p, k) {
      var section = parent.children[k], nodes = section.getElementsByTagName("td");
      section.children[1].textContent = p[2];
      inOrder(p[3]).forEach(function (x, i) { fill(nodes[i], x[0], p[0] === "truth" ? null : truth[i][0], std, x[1]); });
    });
  };

  E.drawPanels = function (v) { E.panels(document.getElementById("panels"), v, v.level.std, v.table.why); };

  E.drawStrips = function (v) {
    var svg = document.getElementById("strips"), width = Math.max(280, svg.clientWidth || 300), rowHeight = 34;
    var height = v.methods.length * rowHeight + 40, left = width < 420 ? 84 : 110;
    svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    svg.style.height = height + "px";
    svg.replaceChildren();
    var run = data.runs[v.table.key + "|" + v.level.key], low = Math.min(run.range[0], 0), high = Math.max(run.range[1], 0), pad = (high - low) * 0.04;
    var x = function (e) { return left + (e - low + pad) / (high - low + 2 * pad) * (width - left - 12); };
    E.el(svg, "line", { x1: x(0), x2: x(0), y1: 4, y2: height - 34, class: "zero" });
    v.methods.forEach(function (m, i) {
      var y = 8 + (i + 0.5) * rowHeight;
      E.el(svg, "text", { x: left - 8, y: y + 4, class: "label", "text-anchor": "end", "font-size": 13 }, m.title);
      m.errors.forEach(function (e, k) {
        var newest = k === m.errors.length - 1;
        E.el(svg, "circle", { cx: x(e), cy: y + ((k * 7) % 5 - 2) * 2.2, r: newest ? 5 : 3, class: "draw-dot " + m.key + (newest ? " newest" : "") });
      });
      E.el(svg, "path", { d: "M" + x(m.bias) + " " + (y + 9) + "l-5 8h10z", class: "mean" });
    });
    var step = Math.pow(10, Math.floor(Math.log10(high - low))), n = (high - low) / step;
    step = n < 2 ? step / 2 : n > 5 ? step * 2 : step;
    for (var t = Math.ceil(low / step) * step; t <= high; t += step) {
      E.el(svg, "text", { x: x(t), y: height - 14, class: "tick", "text-anchor": "middle" }, (t > 0 ? "+" : "") + E.number(Math.abs(t) < step / 2 ? 0 : t));
    }
    document.getElementById("strips-caption").textContent = "Each dot is a draw, the triangle their mean, the line no error.";
  };

  E.drawSentence = function (v) {
    return "The true total is " + written(v.truth.sum, true) + ", its noisy answer " + written(v.noisy.sum) + ". The tables fitted say: " +
      v.methods.map(function (m) { return m.title + " " + written(m.fit.sum); }).join(", ") + ".";
  };

  E.drawTable = function (v) {
    var body = document.querySelector("#draw-values tbody"), rows = document.createDocumentFragment();
    v.methods.forEach(function (m) {
      var row = document.createElement("tr"), head = document.createElement("th");
      head.scope = "row"; head.textContent = m.title; row.appendChild(head);
      [written(m.bias), E.number(m.sumSquared), E.number(m.expected.sum) + " ± " + E.number(m.expected.sum_error, 2),
        E.number(m.cellsSquared), E.number(m.expected.cells) + " ± " + E.number(m.expected.cells_error, 2)
      ].forEach(function (text) { var td = document.createElement("td"); td.textContent = text; row.appendChild(td); });
      rows.appendChild(row);
    });
    body.replaceChildren(rows);
    document.getElementById("draw-values-caption").textContent =
      "Draws 1 to " + v.draw + " of “" + v.table.title + "” at " + v.level.title + "; expected: mean of " + data.expected_runs +
      " other draws with its standard error.";
  };
}(window.Explorer));
