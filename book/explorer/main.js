/* Wiring: controls to state, state to pictures, words and address. */
(function (E) {
  "use strict";
  var plane = window.EXPLORER_PLANE, draws = window.EXPLORER_DRAWS, State = E.State;
  var state, values, playing = null, speakLater = null, writeLater = null, untellLater = null, lastMove = 0;
  var SLIDERS = ["epsilon", "rho", "delta", "d", "sum"];
  function by(id) { return document.getElementById(id); }

  /** The mechanism that does best on one error while the other is at most a limit, and how surely. */
  function bestKnown(v, what, other, limit) {
    var found = null;
    v.mechanisms.forEach(function (m) {
      if (m.key === "signed") { return; }
      [].concat(m[what]).forEach(function (value, i) {
        if ([].concat(m[other])[i] <= limit && (!found || value < found.value)) { found = { value: value, m: m }; }
      });
    });
    if (!found) { return "No mechanism drawn here manages that."; }
    var number = E.number(found.value), most = E.atMost(found.value), sure = what === "C" && found.m.upper ? "worst" : found.m.sure;
    return { exact: found.m.subject + " has exactly " + number + ".", known: found.m.subject + " has " + number + " on the worst table known.",
      worst: found.m.subject + " has " + number + " on its worst table.",
      certified: found.m.subject + " has at most " + most + "." }[sure];
  }

  /* What is said of a setting; each sentence is chosen by the numbers. Cards and speech share it. */
  function findings(v) {
    // Limits are told in multiples of the signed error: these are exact, and counts would be rounded.
    var signed = E.number(v.unit), same = "no more than signed answers do,";
    var sum = state.sum === 1 ? same : "by D ≤ " + E.exact(state.sum) + "× signed answers’ error,";
    function finding(what, other, bound, limit, given, subject) {
      var f = { given: given, none: !(bound && bound[what] > 0) };
      f.big = f.none ? "no bound" : what + " ≥ " + E.atLeast(bound[what]);
      f.then = f.none ? "The bounds drawn here say nothing of " + (what === "C" ? "any count." : "the sum.") :
        bound[what] > v.unit ? "for " + subject + ", on some table: " + E.atLeast(bound[what] / v.unit, bound[what] < 10 * v.unit ? 2 : 3) + "× signed answers’ " + signed + "." :
          "for " + subject + ": no more than signed answers’ " + signed + ".";
      f.known = bestKnown(v, what, other, limit);
      return f;
    }
    return [
      finding("C", "D", v.sharpestC, v.sum, "If the sum errs " + sum, "some count"),
      finding("D", "C", v.sharpestD, v.unit, "If each count errs " + same, "the sum")
    ];
  }

  function cards(v) {
    findings(v).forEach(function (f, i) {
      var card = by(i ? "card-counts" : "card-sum");
      card.replaceChildren();
      [["span", f.given], ["strong", f.big], ["span", f.then], ["span", f.known]].forEach(function (part) {
        card.appendChild(document.createElement(part[0])).textContent = part[1];
      });
      card.querySelector("strong").className = f.none ? "none" : "";
    });
  }

  function spoken(v) {
    return "Microdata with " + E.level(v) + " and " + E.exact(v.d) + " counts. " +
      findings(v).map(function (f) { return [f.given, f.big, f.then, f.known].join(" "); }).join(" ");
  }

  function cellOf(value) { return value === undefined ? "—" : value > 0 ? E.atLeast(value) : "0 (says nothing)"; }

  function valuesTable(v) {
    var rows = document.createDocumentFragment();
    function add(title, C, D, status) {
      var row = document.createElement("tr"), head = document.createElement("th");
      head.scope = "row"; head.textContent = title; row.appendChild(head);
      [C, D, status].forEach(function (text) { row.appendChild(document.createElement("td")).textContent = text; });
      rows.appendChild(row);
    }
    v.bounds.forEach(function (b) {
      add(b.title + ", given the sum’s error", "at least " + cellOf(b.C), "at most " + E.exact(state.sum) + "× signed", "lower bound");
      add(b.title + ", given the counts’ errors", "at most 1× signed", "at least " + cellOf(b.D), "lower bound");
    });
    v.mechanisms.forEach(function (m) {
      if (m.path) {
        var n = m.C.length - 1;
        add(m.title, E.told(m, m.C[0]) + " to " + E.told(m, m.C[n]), E.told(m, m.D[0]) + " to " + E.told(m, m.D[n]), m.status);
      } else { add(m.title, E.told(m, m.C) + (m.upper ? ", at most " + E.atMost(m.upper) : ""), E.told(m, m.D), m.status); }
    });
    document.querySelector("#values tbody").replaceChildren(rows);
    by("values-caption").textContent = "Root expected squared errors, in counts, at " + E.level(v) + " and d = " + E.exact(v.d) + ".";
  }

  function say(text) {
    // A screen reader hears where a move ends, not every step of it.
    window.clearTimeout(speakLater);
    speakLater = window.setTimeout(function () { if (by("live").textContent !== text) { by("live").textContent = text; } }, 500);
  }

  function controls() {
    document.querySelectorAll("input[name=view], input[name=privacy], input[name=table], input[name=level]").forEach(function (input) {
      input.checked = state[input.name] === input.value;
    });
    by("epsilon-row").hidden = state.privacy === "zcdp";
    by("rho-row").hidden = state.privacy !== "zcdp";
    by("delta-row").hidden = state.privacy !== "approximate";
    by("own-epsilon").value = State.stops("epsilon").indexOf(state.epsilon);
    by("own-epsilon").setAttribute("aria-valuetext", E.exact(state.epsilon));
    SLIDERS.forEach(function (name) {
      var input = by(name), stops = State.stops(name), text = E.exact(state[name]);
      if (name === "sum") { text = E.number(values.sum) + " (" + E.exact(state.sum) + "× signed)"; }
      input.max = stops.length - 1;
      input.value = stops.indexOf(state[name]);
      input.setAttribute("aria-valuetext", text);
      by(name + "-out").textContent = text;
    });
    document.querySelectorAll("#layers input").forEach(function (input) {
      input.checked = state.hide.indexOf(input.value) < 0;
      var here = values.bounds.concat(values.mechanisms).some(function (x) { return x.key === input.value; });
      input.parentNode.hidden = !here;
      var bound = values.bounds.filter(function (b) { return b.key === input.value; })[0];
      input.parentNode.classList.toggle("vacuous", Boolean(bound && bound.curve.length < 2));
    });
  }

  function render() {
    var began = performance.now();
    by("plane-view").hidden = state.view !== "plane";
    by("draws-view").hidden = state.view !== "draws";
    by("story-view").hidden = state.view !== "story";
    by("own-view").hidden = state.view !== "own";
    by("app").className = state.view;
    by("save").hidden = state.view !== "plane";
    values = E.values(state);
    controls();
    if (state.view === "plane") {
      cards(values);
      E.drawPlane(values, state.hide, toSum);
      E.drawPrice(state, state.hide);
      valuesTable(values);
      say(spoken(values));
    } else if (state.view === "story") {
      say(E.drawStory(state));
    } else if (state.view === "own") {
      by("own-epsilon-out").textContent = E.exact(state.epsilon);
      say(E.drawOwn(state));
    } else {
      var v = E.drawValues(state);
      E.drawStrips(v);  // first, as it asks for a width, which after other changes is laid out anew
      by("draw").max = draws.draws;
      by("draw").value = state.draw;
      by("draw").setAttribute("aria-valuetext", state.draw + " of " + draws.draws);
      by("draw-out").textContent = state.draw + " of " + draws.draws;
      by("draw-headline").textContent = E.drawSentence(v);
      E.drawPanels(v);
      E.drawTable(v);
      say("Draw " + state.draw + ". " + by("draw-headline").textContent);
    }
    // Browsers refuse an address that changes with every step of a slider; it follows when the hand rests.
    window.clearTimeout(writeLater);
    writeLater = window.setTimeout(write, 150);
    lastMove = performance.now() - began;
  }

  var fromPreset = false, seen = null;  // the address as last read or written

  function write() {
    if (window.location.hash !== seen) { return; }  // somebody has just changed it: it is read next
    window.history.replaceState(null, "", State.write(state));
    seen = window.location.hash;
  }

  function change(what) {
    Object.keys(what).forEach(function (key) { state[key] = what[key]; });
    by("message").hidden = true;
    render();
  }

  function toSum(counts) {
    var stop = State.nearest(plane.sums, counts / values.unit);
    if (stop !== state.sum) { change({ sum: stop }); }
  }

  function restore() {
    seen = window.location.hash;
    var read = State.read(seen);
    if (state && state.view === "story" && read.state.view !== "story" && fromPreset) { told("You left the story; “The idea in five steps” leads back."); }
    fromPreset = false;
    state = read.state;
    if (state.own !== null) { by("own-text").value = state.own; }
    by("message").hidden = !read.complaints.length;
    by("message").textContent = read.complaints.length ? "From the address: " + read.complaints.join(". ") + "." : "";
    stop();
    render();
  }

  function step(by_) { change({ draw: (state.draw - 1 + by_ + draws.draws) % draws.draws + 1 }); }
  function stop() {
    window.clearInterval(playing);
    playing = null;
    by("play").setAttribute("aria-pressed", "false");
    by("play").textContent = "Play";
  }
  function play() {
    if (playing) { stop(); return; }
    if (state.draw === draws.draws) { change({ draw: 1 }); }
    by("play").setAttribute("aria-pressed", "true");
    by("play").textContent = "Pause";
    playing = window.setInterval(function () { if (state.draw < draws.draws) { step(1); } else { stop(); } }, 900);
  }

  function told(text) {
    by("told").textContent = text;
    window.clearTimeout(untellLater);
    untellLater = window.setTimeout(function () { by("told").textContent = ""; }, 8000);
  }

  /** Copy the address; where the browser keeps the clipboard shut, show it to be copied by hand. */
  function copy(text) {
    function byHand() { window.prompt("The address of this setting:", text); }
    if (!navigator.clipboard) { byHand(); return; }
    navigator.clipboard.writeText(text).then(function () { told("Copied."); }, byHand);
  }

  /** The plane as a file: the drawing with the colours that it has now. */
  function save() {
    var node = by("plane"), twin = node.cloneNode(true), from = node.querySelectorAll("*"), to = twin.querySelectorAll("*");
    var keep = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "paint-order", "font-family", "font-size", "font-style", "font-weight"];
    from.forEach(function (one, i) {
      var style = window.getComputedStyle(one);
      keep.forEach(function (name) { to[i].style.setProperty(name, style.getPropertyValue(name)); });
    });
    twin.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    twin.style.background = window.getComputedStyle(document.body).backgroundColor;
    var a = document.createElement("a");
    a.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(twin)], { type: "image/svg+xml" }));
    a.download = "price-of-microdata.svg";
    a.click();
    window.setTimeout(function () { URL.revokeObjectURL(a.href); }, 1000);
    told("Saved.");
  }

  function choices(parent, name, items) {
    items.forEach(function (item) {
      var label = document.createElement("label"), input = document.createElement("input"), span = document.createElement("span");
      input.type = "radio"; input.name = name; input.value = item.key; span.textContent = item.title;
      label.append(input, span);
      by(parent).appendChild(label);
    });
  }

  function build() {
    choices("table-choice", "table", draws.tables);
    choices("level-choice", "level", draws.levels);
    E.LAYERS.forEach(function (layer) {
      var label = document.createElement("label"), input = document.createElement("input");
      var swatch = document.createElement("span"), text = document.createElement("span");
      input.type = "checkbox"; input.value = layer.key;
      swatch.className = "swatch " + layer.key; text.textContent = layer.title;
      label.append(input, swatch, text);
      by("layers").appendChild(label);
    });
    document.addEventListener("change", function (event) {
      var input = event.target;
      if (input.type === "radio") {
        var what = {}; what[input.name] = input.value;
        if (input.name !== "privacy") { what.draw = 1; }
        stop();
        change(what);
      } else if (input.type === "checkbox") {
        change({ hide: E.LAYERS.map(function (l) { return l.key; }).filter(function (key) {
          return key === input.value ? !input.checked : state.hide.indexOf(key) >= 0;
        }) });
      }
    });
    SLIDERS.forEach(function (name) {
      by(name).addEventListener("input", function () {
        var what = {}; what[name] = State.stops(name)[Number(this.value)];
        change(what);
      });
    });
    by("draw").addEventListener("input", function () { stop(); change({ draw: Number(this.value) }); });
    by("previous").addEventListener("click", function () { stop(); step(-1); });
    by("next").addEventListener("click", function () { stop(); step(1); });
    by("play").addEventListener("click", play);
    by("story-back").addEventListener("click", function () { change({ step: Math.max(1, state.step - 1) }); });
    by("story-next").addEventListener("click", function () {
      change({ step: Math.min(E.STEPS, state.step + 1) });
      if (state.step === E.STEPS) { by("story-plane").focus(); }
    });
    by("story-plane").addEventListener("click", function () { change({ view: "plane" }); by("d").focus(); });
    by("own-text").addEventListener("input", function () { change({}); });
    by("own-draw").addEventListener("click", function () { change({ draw: state.draw % draws.draws + 1 }); });
    by("own-epsilon").max = State.stops("epsilon").length - 1;
    by("own-epsilon").addEventListener("input", function () { change({ epsilon: State.stops("epsilon")[Number(this.value)] }); });
    by("copy").addEventListener("click", function () {
      var own = state.view === "own" && !E.readTable(by("own-text").value).error ? by("own-text").value : null;
      write();
      copy(window.location.href.split("#")[0] + State.write(state, own));
    });
    by("save").addEventListener("click", save);
    by("reset").addEventListener("click", function () { var view = state.view; state = State.start(); change({ view: view }); });
    document.querySelectorAll("a[data-setting]").forEach(function (a) { 
      a.href = "#" + a.dataset.setting;
      a.addEventListener("click", function () { fromPreset = true; });
    });
    document.querySelectorAll("form").forEach(function (form) { form.addEventListener("submit", function (e) { e.preventDefault(); }); });
    window.addEventListener("hashchange", restore);
    var resized = null;
    window.addEventListener("resize", function () { window.clearTimeout(resized); resized = window.setTimeout(render, 80); });
    E.listenPlane();
  }

  /** What is shown, for tests and for the curious: the setting and its numbers. */
  window.explorerState = function () {
    var v = E.values(state), copy = JSON.parse(JSON.stringify(state));
    return { state: copy, values: v, draw: E.drawValues(state), prices: E.prices(state), milliseconds: lastMove };
  };

  // The tables of the other kinds of privacy are unpacked while nobody waits for them.
  function unpack(rest) {
    if (rest.length) { window.setTimeout(function () { E.unpack(rest.pop()); unpack(rest); }, 40); }
  }

  by("static").hidden = true;
  by("app").hidden = false;
  build();
  restore();
  unpack(E.packed());
}(window.Explorer));
