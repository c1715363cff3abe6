// What the pages do beside the theme: hints to scroll, tabs, paper, the order of search, previews.
(() => {
"use strict";

// Search: chapters first, those with the words in their titles before others; the first page, which
// has the title of the whole book, and the glossary last.
const ORDER = [[/^notebooks\//, 100], [/^(intro|reference\/notation)$/, 12], [/^(?!reference\/)/, 50]];
const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? [];
const query = (new URLSearchParams(location.search).get("q") ?? "").toLowerCase();
const asked = words(query);
function inTitle(title) {
  const own = words(title.split(" > ")[0]);
  const share = asked.filter((word) => own.includes(word)).length / (asked.length || 1);
  return share * (1 + asked.length / (own.length || 1));
}
// Who asks for a statement by its number is led to its box: "theorem 3" to "Theorem 3.1 (...)".
// The paper's algorithms and tables have no boxes here.
const BOXLESS = [[/^algorithm [12]$/, "notebooks/five_methods"], [/^tables? [12]$/, "notebooks/scorecard"]];
const numbered = query.match(/[a-z]+ o?\d+(\.\d+)?(?![.\d])/)?.[0] ?? "";
let homes = null;
function findHomes() {
  const { alltitles, docnames } = Search._index;
  const boxes = Object.keys(alltitles).filter((title) => numbered && title.toLowerCase().startsWith(numbered)
    && /^(\.\d+)? \(/.test(title.slice(numbered.length)));
  return new Set([
    ...boxes.flatMap((title) => alltitles[title].map(([page]) => docnames[page])),
    ...BOXLESS.filter(([pattern]) => pattern.test(numbered)).map(([, home]) => home),
  ]);
}
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Scorer !== "undefined") {
    Scorer.score = ([name, title, , , score]) => {
      homes ??= findHomes();
      const order = ORDER.find(([pattern]) => pattern.test(name))?.[1] ?? 1;
      return order * (homes.has(name) ? 10 : 1) * (score + 20 * inTitle(title));
    };
  }
});

// What is wider than the page scrolls within itself, says so, and can be scrolled by keyboard.
const WIDE = ".pst-scrollable-table-container, .wide-figure, mjx-container[display=true], span.math";
const KINDS = { "pst-scrollable-table-container": "Table", "wide-figure": "Figure" };
function settle(target) {
  // A formula in a line has parts beyond its box that are no part of what is seen.
  const inLine = target.matches("span.math") && target.querySelector("mjx-container");
  const width = inLine ? inLine.getBoundingClientRect().width : target.scrollWidth;
  const hidden = width > target.clientWidth + 1;
  target.classList.toggle("scrolls", hidden);
  // A rounded pixel is no reason to scroll.
  target.style.overflowX = !hidden && width > target.clientWidth ? "hidden" : "";
  if (!hidden) { target.removeAttribute("tabindex"); } else if (target.tabIndex !== 0) { target.tabIndex = 0; }
  const kind = KINDS[target.classList[0]];
  if (kind && hidden) {
    target.setAttribute("role", "group");
    target.setAttribute("aria-label", `${kind}, scrolls sideways`);
  } else if (kind) {
    target.removeAttribute("role");
    target.removeAttribute("aria-label");
  }
}
const widths = new ResizeObserver((entries) => { for (const { target } of entries) { settle(target); } });
// The theme asks it of tables, too, at moments of its own, and takes a rounded pixel for a reason.
const told = new MutationObserver((changes) => { for (const { target } of changes) { settle(target); } });
// The theme asks this of code and outputs when the page is loaded or changes its width, so that
// what was folded away until now stays out of the keyboard's reach. Here it is asked when shown.
const CODE = "pre, .cell_output > .output";
const reach = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const cut = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
    target.tabIndex = cut ? 0 : -1;
  }
});
function watchWidths() {
  for (const node of document.querySelectorAll(WIDE)) {
    widths.observe(node);
    told.observe(node, { attributeFilter: ["tabindex"] });
  }
  for (const node of document.querySelectorAll(CODE)) { reach.observe(node); }
}
document.addEventListener("DOMContentLoaded", watchWidths);
addEventListener("load", () => window.MathJax?.startup?.promise?.then(watchWidths));
document.fonts.ready.then(watchWidths); // letters that come late change what is cut, not its box

// What a link leads to may stand in a tab that is not shown; its proof, folded, comes next.
function openPlace() {
  let name = location.hash.slice(1);
  try { name = decodeURIComponent(name); } catch { /* a link that was cut leads nowhere */ }
  const target = document.getElementById(name);
  if (!target) { return; }
  const follows = (node) => target.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING
    && (target.matches("section") || !target.contains(node));
  const next = [...document.querySelectorAll("details.proof, .admonition")].find(follows);
  if (next?.matches("details")) { next.open = true; }
  const tab = target.closest(".sd-tab-content");
  if (!tab) { return; }
  tab.previousElementSibling.previousElementSibling.checked = true;
  target.scrollIntoView();
}
document.addEventListener("DOMContentLoaded", openPlace);
addEventListener("hashchange", openPlace);

// On paper proofs and solutions are open, and the page is light; afterwards all is as it was.
const page = document.documentElement;
let before = null;
addEventListener("beforeprint", () => {
  const folded = [...document.querySelectorAll("details.fold:not([open])")];
  before = { folded, theme: page.dataset.theme };
  for (const node of folded) { node.open = true; }
  page.dataset.theme = "light";
});
addEventListener("afterprint", () => {
  for (const node of before?.folded ?? []) { node.open = false; }
  if (before) { page.dataset.theme = before.theme; }
  before = null;
});

// A term, theorem or equation that a link leads to is shown beside the link.
const base = new URL(page.dataset.content_root ?? "./", location.href);
let previews = null;
function load() {
  previews ??= new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = new URL("_static/previews.js", base).href;
    script.onload = () => resolve(window.bookPreviews ?? {});
    script.onerror = () => resolve({});
    document.head.append(script);
  });
  return previews;
}
let shown = null;
let timer = 0;
function hide() {
  clearTimeout(timer);
  shown?.preview.dispose();
  shown?.link.removeAttribute("aria-describedby");
  shown = null;
}
async function show(link) {
  const known = await load();
  const html = known[link.href.slice(base.href.length)];
  if (!html || !link.matches(":hover, :focus")) { return; }
  hide();
  const content = document.createElement("div");
  content.innerHTML = html;
  // Formulas are measured on the page, so it is there that they are set.
  content.className = "preview-draft";
  document.body.append(content);
  await window.MathJax?.typesetPromise?.([content]);
  content.remove();
  content.className = "";
  if (!link.matches(":hover, :focus")) { return; }
  const preview = new bootstrap.Popover(link, {
    content, html: true, sanitize: false, trigger: "manual", container: "main", customClass: "preview",
    placement: "auto", fallbackPlacements: ["bottom", "top"], animation: false,
  });
  preview.show();
  shown = { link, preview };
}
function leave() {
  clearTimeout(timer);
  // Time to reach the preview itself, which stays while the pointer is on it.
  timer = setTimeout(() => { if (!document.querySelector(".preview:hover")) { hide(); } }, 250);
}
const LINKS = ".bd-article a.internal[href*='#']";
document.addEventListener("pointerover", (event) => {
  const link = event.pointerType === "mouse" && event.target.closest?.(LINKS);
  if (!link) { return; }
  clearTimeout(timer);
  timer = setTimeout(() => show(link), 150);
});
document.addEventListener("pointerout", (event) => {
  if (event.target.closest?.(`${LINKS}, .preview`)) { leave(); }
});
document.addEventListener("focusin", (event) => {
  const link = event.target.closest?.(LINKS);
  if (link?.matches(":focus-visible")) { show(link); }
});
document.addEventListener("focusout", (event) => { if (event.target.closest?.(LINKS)) { hide(); } });
document.addEventListener("keydown", (event) => { if (event.key === "Escape") { hide(); } });
})();
