/* Choices above the table of all results: only rows that fit them are shown. Without this script it is a plain table. */
document.addEventListener("DOMContentLoaded", function () {
  "use strict";
  var table = document.getElementById("results-all");
  if (!table || table.tagName !== "TABLE") { return; }
  var rows = Array.from(table.tBodies[0].rows);
  var heads = Array.from(table.tHead.rows[0].cells);
  var text = function (cell) { return cell.textContent.trim(); };
  var form = document.createElement("p");
  var told = document.createElement("span");
  var choices = [];
  var show = function () {
    var shown = 0;
    rows.forEach(function (row) {
      row.hidden = !choices.every(function (c) { return !c.select.value || text(row.cells[c.column]) === c.select.value; });
      shown += row.hidden ? 0 : 1;
    });
    told.textContent = shown + " of " + rows.length + " rows";
  };
  heads.forEach(function (head, column) {
    var values = Array.from(new Set(rows.map(function (row) { return text(row.cells[column]); })));
    if (values.length < 2 || values.length > 12) { return; }
    var label = document.createElement("label");
    var select = document.createElement("select");
    select.append(new Option("all", ""));
    values.forEach(function (value) { select.append(new Option(value, value)); });
    select.style.margin = "0 1em 0.5em 0.4em";
    select.addEventListener("change", show);
    label.style.display = "inline-block";
    label.append(text(head), select);
    form.append(label);
    choices.push({ column: column, select: select });
  });
  told.setAttribute("role", "status");
  form.setAttribute("role", "group");
  form.setAttribute("aria-label", "Choose rows of the table");
  form.append(told);
  table.style.fontSize = "0.88em"; // so that all methods stand side by side
  (table.closest(".pst-scrollable-table-container") || table).before(form);
  show();
});
