/* The theme before the first paint: what the reader chose in the book, else what the system asks for. */
(function () {
  "use strict";
  var root = document.documentElement;
  function stored() {
    // Storage may be shut off for files; then only the system's wish is known.
    try { return window.localStorage.getItem("mode"); } catch (error) { return null; }
  }
  var system = window.matchMedia("(prefers-color-scheme: dark)");
  function apply() {
    var mode = stored();
    var dark = mode === "dark" || (mode !== "light" && system.matches);
    root.setAttribute("data-theme", dark ? "dark" : "light");
    var button = document.getElementById("theme");
    if (button) { button.textContent = dark ? "Light theme" : "Dark theme"; button.hidden = false; }
  }
  apply();
  system.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", function () {
    apply();
    document.getElementById("theme").addEventListener("click", function () {
      var next = root.getAttribute("data-theme") === "dark" ? "light" : "dark";
      try {
        // The names are those of the book's own switch, so that both agree.
        window.localStorage.setItem("mode", next);
        window.localStorage.setItem("theme", next);
      } catch (error) { /* the choice lasts as long as the page */ }
      root.setAttribute("data-theme", next);
      this.textContent = next === "dark" ? "Light theme" : "Dark theme";
    });
  });
}());
