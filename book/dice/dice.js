/* A class's throws: both sums, their histogram, the exact chances beside them. */
(function () {
  "use strict";
  var DICE = window.DICE;
  var MOST = DICE.values[DICE.values.length - 1];
  var LIMIT = DICE.limit;
  var ROWS = 8;
  var rounds = [[]];

  function at(id) { return document.getElementById(id); }
  function sum(list) { return list.reduce(function (a, b) { return a + b; }, 0); }
  function clip(list) { return list.map(function (x) { return Math.max(0, x); }); }
  function now() { return rounds[rounds.length - 1]; }
  function number(x) { return String(x).replace("-", "−"); }
  function streets(n) { return n + (n === 1 ? " street" : " streets"); }

  /* The address holds the throws. */
  function write() {
    var text = rounds.map(function (r) { return r.join(","); }).join(";");
    try { window.history.replaceState(null, "", text ? "#" + text : window.location.pathname); } catch (error) { /* the page goes on without */ }
  }
  function read(text) {
    var found = text.split(";").map(function (part) { return parse(part.replace(/,/g, " ")).good.slice(0, LIMIT); });
    return found.length ? found : [[]];
  }
  function parse(text) {
    var good = [], bad = [];
    text.replace(/[−–]/g, "-").split(/[\s,;]+/).filter(Boolean).forEach(function (word) {
      if (/^[+-]?\d+$/.test(word) && Math.abs(Number(word)) <= MOST) { good.push(Number(word) + 0); } else { bad.push(word); }
    });
    return { good: good, bad: bad };
  }

  /* Exact chances: one street's law, folded with itself as often as there are streets. */
  function fold(a, b) {
    var out = new Array(a.length + b.length - 1).fill(0);
    a.forEach(function (p, i) { b.forEach(function (q, j) { out[i + j] += p * q; }); });
    return out;
  }
  var known = { signed: {}, clipped: {} };
  function law(kind, n) {
    if (n === 1) { return DICE[kind]; }
    if (!known[kind][n]) {
      var half = law(kind, Math.floor(n / 2));
      var both = fold(half, half);
      known[kind][n] = n % 2 ? fold(both, DICE[kind]) : both;
    }
    return known[kind][n];
  }

  var SVG = "http://www.w3.org/2000/svg";
  function draw(parent, name, attributes, text) {
    var node = document.createElementNS(SVG, name);
    Object.keys(attributes).forEach(function (key) { node.setAttribute(key, attributes[key]); });
    if (text !== undefined) { node.textContent = text; }
    parent.appendChild(node);
    return node;
  }

  function throwsPicture() {
    var svg = at("throws-picture"), counts = {}, low = 258, high = 24, step = 560 / DICE.values.length;
    svg.textContent = "";
    now().forEach(function (x) { counts[x] = (counts[x] || 0) + 1; });
    var top = Math.max.apply(null, [4].concat(Object.keys(counts).map(function (k) { return counts[k]; })));
    var pattern = draw(draw(svg, "defs", {}), "pattern", { id: "hatch", width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
    draw(pattern, "line", { x1: 0, y1: 0, x2: 0, y2: 8, "class": "stripe" });
    DICE.values.forEach(function (value, i) {
      var count = counts[value] || 0, height = (low - high) * count / top, x = i * step + 5;
      if (count) {
        draw(svg, "rect", { x: x, y: low - height, width: step - 10, height: height, "class": value < 0 ? "bar below" : "bar", "data-value": value, "data-count": count });
        draw(svg, "text", { x: x + step / 2 - 5, y: low - height - 5, "text-anchor": "middle" }, count);
      }
      draw(svg, "text", { x: x + step / 2 - 5, y: low + 20, "text-anchor": "middle", "class": "soft" }, number(value));
    });
    draw(svg, "line", { x1: 0, x2: 560, y1: low, y2: low, "class": "axis" });
    draw(svg, "text", { x: 280, y: 296, "text-anchor": "middle", "class": "soft" }, "red − white");
    svg.setAttribute("aria-label", "How often each throw came in this round. " + (now().length ? DICE.values.filter(function (v) { return counts[v]; }).map(function (v) { return number(v) + ": " + counts[v]; }).join(", ") + "." : "None yet."));
  }

  function sumsPicture() {
    var svg = at("sums-picture"), n = now().length || (rounds[rounds.length - 2] || []).length;
    svg.textContent = "";
    var done = rounds.filter(function (r) { return r.length; });
    var shown = n || DICE.students;
    var laws = { signed: law("signed", shown), clipped: law("clipped", shown) };
    var first = { signed: -MOST * shown, clipped: 0 };
    var seen = [0];
    Object.keys(laws).forEach(function (kind) {
      laws[kind].forEach(function (p, i) { if (p > 1e-4) { seen.push(first[kind] + i); } });
    });
    done.forEach(function (r) { seen.push(sum(r), sum(clip(r))); });
    var left = Math.min.apply(null, seen) - 1, right = Math.max.apply(null, seen) + 1;
    var top = Math.max.apply(null, laws.signed.concat(laws.clipped)), low = 200, high = 40;
    function X(v) { return 14 + 532 * (v - left) / (right - left); }
    function Y(p) { return low - (low - high) * p / top; }
    ["signed", "clipped"].forEach(function (kind) {
      var path = "";
      laws[kind].forEach(function (p, i) {
        var v = first[kind] + i;
        if (v < left || v > right) { return; }
        path += (path ? "H" + X(v - 0.5) : "M" + X(v - 0.5) + " " + low) + "V" + Y(p);
        path += "H" + X(v + 0.5);
      });
      draw(svg, "path", { d: path + "V" + low + "Z", "class": "hill " + kind });
    });
    draw(svg, "line", { x1: X(0), x2: X(0), y1: high - 14, y2: low, "class": "truth" });
    draw(svg, "text", { x: X(0) + 6, y: 22, "class": "soft" }, "truth");
    draw(svg, "line", { x1: 0, x2: 560, y1: low, y2: low, "class": "axis" });
    var step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].filter(function (s) { return (right - left) / s <= 8; })[0] || 2000;
    for (var v = Math.ceil(left / step) * step; v <= right; v += step) {
      draw(svg, "text", { x: X(v), y: low + 19, "text-anchor": "middle", "class": "soft" }, number(v));
    }
    var last = done.slice(-ROWS);
    last.forEach(function (r, i) {
      var which = rounds.indexOf(r) + 1, s = sum(r), c = sum(clip(r)), y = low + 40 + 22 * i;
      draw(svg, "text", { x: 4, y: y + 5, "class": "soft" }, which);
      draw(svg, "line", { x1: 22, x2: 560, y1: y, y2: y, "class": "row" });
      draw(svg, "rect", { x: X(c) - 7, y: y - 7, width: 14, height: 14, "class": "mark clipped", "data-round": which, "data-sum": c });
      draw(svg, "circle", { cx: X(s), cy: y, r: 7, "class": "mark", "data-round": which, "data-sum": s });
    });
    svg.setAttribute("viewBox", "0 0 560 " + (low + 36 + 22 * Math.max(1, last.length)));
    at("sums-caption").textContent = "The hills: how likely each sum of " + streets(shown) + " is, grey signed, coloured with nothing below zero. Below them a row for each round of the class: its signed sum is a circle, the other a square.";
    svg.setAttribute("aria-label", "Exact chances of both sums for " + streets(shown) + ". " + done.map(function (r) { return "Round " + (rounds.indexOf(r) + 1) + ": signed " + number(sum(r)) + ", clipped " + number(sum(clip(r))) + "."; }).join(" "));
  }

  function half(x) { return number(Math.round(2 * x) / 2); }
  function levelSaid() {
    var level = Number(at("level").value), total = Math.max(0, Number(at("total").value) || 0);
    var cells = now().slice();
    at("level-value").textContent = half(level);
    if (!cells.length) { at("level-said").textContent = "First count this round's throws."; return; }
    if (at("full").checked) { cells[0] += DICE.people; }
    at("level").max = String(MOST + (at("full").checked ? DICE.people : 0));
    var left = sum(clip(cells.map(function (x) { return x - level; })));
    var text = "At a level of " + half(level) + " the class has " + half(left) + "; announced is " + half(total) + ". ";
    text += left > total ? "Go on." : "Stop.";
    if (at("full").checked) {
      text += " The street with three people called out " + number(cells[0]) + " and ends with " + half(Math.max(0, cells[0] - level)) + ".";
    }
    at("level-said").textContent = text;
  }

  function roundsTable() {
    var body = at("rounds");
    body.textContent = "";
    function add(name, n, s, c) {
      var closer = Math.abs(s) < c ? "signed" : Math.abs(s) > c ? "nothing below zero" : "both alike";
      var row = document.createElement("tr");
      [name, n, number(s), number(c), closer].forEach(function (cell) {
        var td = document.createElement("td");
        td.textContent = cell;
        row.appendChild(td);
      });
      body.appendChild(row);
    }
    rounds.forEach(function (r, i) {
      if (r.length) { add(i + 1, r.length, sum(r), sum(clip(r))); }
    });
    var all = played();
    if (all.rounds > 1) { add("all", all.streets, all.signed, all.clipped); }
  }

  /* All rounds added up: one round may mislead, their mean hardly does. */
  function played() {
    var done = rounds.filter(function (r) { return r.length; });
    return { rounds: done.length, streets: sum(done.map(function (r) { return r.length; })),
      signed: sum(done.map(sum)), clipped: sum(done.map(function (r) { return sum(clip(r)); })) };
  }
  function mean(total, count) { return number(Math.round(10 * total / count) / 10); }

  function show(told) {
    var s = sum(now()), c = sum(clip(now())), n = now().length, all = played();
    at("signed").textContent = n ? number(s) : "–";
    at("clipped").textContent = n ? number(c) : "–";
    at("signed-off").textContent = n ? "round " + rounds.length + ", " + streets(n) : "round " + rounds.length;
    at("clipped-off").textContent = n ? number(Math.round(100 * c / n) / 100) + " a street" : "";
    at("signed-mean").textContent = all.rounds > 1 ? "average of " + all.rounds + " rounds: " + mean(all.signed, all.rounds) : "";
    at("clipped-mean").textContent = all.rounds > 1 ? "average of " + all.rounds + " rounds: " + mean(all.clipped, all.rounds) : "";
    at("undo").disabled = !n && rounds.length === 1;
    at("next").disabled = !n;
    at("told").textContent = told || "";
    throwsPicture();
    sumsPicture();
    levelSaid();
    roundsTable();
    write();
  }

  function add(list) {
    if (now().length + list.length > LIMIT) { show("A round has room for " + LIMIT + " streets."); return; }
    rounds[rounds.length - 1] = now().concat(list);
    show("Added " + (list.length === 1 ? number(list[0]) : list.length + " throws") + ": " + streets(now().length) + ", signed sum " + number(sum(now())) + ", with nothing below zero " + number(sum(clip(now()))) + ".");
  }

  function start() {
    DICE.values.forEach(function (value) {
      var key = document.createElement("button");
      key.type = "button";
      key.textContent = number(value);
      key.addEventListener("click", function () { add([value]); });
      at("keys").appendChild(key);
    });
    at("typed").addEventListener("submit", function (event) {
      event.preventDefault();
      var found = parse(at("throws").value);
      if (found.bad.length) {
        show("Not a throw: " + found.bad.slice(0, 5).join(" ") + ". Red minus white is a whole number from −" + MOST + " to " + MOST + ".");
        return;
      }
      if (found.good.length) { at("throws").value = ""; add(found.good); }
    });
    at("undo").addEventListener("click", function () {
      if (!now().length && rounds.length > 1) { rounds.pop(); show("Back in round " + rounds.length + "."); return; }
      var last = now()[now().length - 1];
      rounds[rounds.length - 1] = now().slice(0, -1);
      show("Took " + number(last) + " back.");
    });
    at("roll").addEventListener("click", function () {
      var list = [];
      while (list.length < DICE.students) {
        list.push(Math.floor(Math.random() * DICE.sides) - Math.floor(Math.random() * DICE.sides));
      }
      add(list);
    });
    at("next").addEventListener("click", function () { rounds.push([]); show("Round " + rounds.length + ". Predict first."); at("throws").focus(); });
    at("again").addEventListener("click", function () { rounds = [[]]; show("All throws are gone."); });
    at("level-button").addEventListener("click", function () {
      var open = at("level-part").hidden;
      at("level-part").hidden = !open;
      this.setAttribute("aria-expanded", String(open));
    });
    ["total", "level", "full"].forEach(function (id) { at(id).addEventListener("input", levelSaid); });
    var text = window.location.hash.slice(1), said = "";
    try { text = decodeURIComponent(text); } catch (error) { said = "The link is damaged; what of it can be read is here."; }
    rounds = read(text);
    at("app").hidden = false;
    show(said);
  }
  window.DICE_LAW = law;
  start();
}());
