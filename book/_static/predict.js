/* Exercises that end with a list of predictions, (a), (b), ...: whoever has chosen one sees at once what happens. */
document.addEventListener("DOMContentLoaded", function () {
  "use strict";
  document.querySelectorAll(".admonition.exercise").forEach(function (box, number) {
    var list = Array.from(box.querySelectorAll("ul")).pop();
    if (!list || !/^\s*\(a\) /.test(list.textContent)) { return; }
    var solution = box.nextElementSibling;
    while (solution && !solution.matches("details.solution, .admonition, h2, section")) { solution = solution.nextElementSibling; }
    if (solution && !solution.matches("details.solution")) { solution = null; }
    var told = document.createElement("p");
    told.className = "predicted";
    told.setAttribute("role", "status");
    list.classList.add("predictions");
    list.setAttribute("role", "radiogroup");
    list.setAttribute("aria-label", "Your prediction");
    Array.from(list.children).forEach(function (item) {
      var label = document.createElement("label");
      var choice = document.createElement("input");
      var letter = item.textContent.trim().slice(0, 3);
      choice.type = "radio";
      choice.name = "prediction-" + number;
      while (item.firstChild) { label.appendChild(item.firstChild); }
      label.insertBefore(choice, label.firstChild);
      item.setAttribute("role", "presentation");
      item.appendChild(label);
      choice.addEventListener("change", function () {
        told.textContent = "You predict " + letter + ". " + (solution ? "Below is what happens." : "Now run the notebook: its link is at the foot of this page.");
        if (solution) { solution.open = true; }
      });
    });
    list.after(told);
  });
});
