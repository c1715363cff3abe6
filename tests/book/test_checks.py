"""Notebooks are plain and short; numbers of our own boxes run on, and links name their page."""

import re
from collections import Counter

import pytest

from microdata_price.book import notebook
from microdata_price.book.build import stage_redirects
from microdata_price.book.checks import faults
from microdata_price.book.number import renumbered
from microdata_price.book.plan import notebook_paths
from tiny_book import ROOT, make_notebook, make_root

START = (
    ("text", "# Title\n\nWhat it is about."),
    ("code", "epsilon = 0.5  # level", "parameters"),
    ("code", "import math\n\nassert math.pi > epsilon", "setup"),
)


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ([*START, ("text", "## Section\n\nText."), ("code", "1"), ("code", "say(1)")], ""),
        ([*START, ("text", "See {ref}`x`.")], "mark that Jupyter shows"),
        ([*START, ("text", "```{note}\nx\n```")], "mark that Jupyter shows"),
        ([*START, ("code", "\n".join("x" * 9), "remove-input")], "has 9 lines; at most 8"),
        ([*START, ("code", "\n".join("x" * 31))], "has 31 lines; at most 30"),
        ([*START, *[("code", "\n".join("x" * 8), "hide-input")] * 5], "42 lines of code are"),
        ([*START, ("text", "## Section"), ("code", "1")], "begins with code"),
        ([*START, ("text", "It holds.", "theorem", "label:t")], "must begin"),
        ([*START, ("text", "**Exercise 1.** Why?", "exercise")], "none of the tags easy"),
        ([*START, ("text", "**A.** It.", "fold"), ("code", "1", "fold", "remove-input")], ""),
        ([*START, ("code", "1", "fold", "remove-input")], "must be text that begins"),
        ([*START, ("text", "So it is.", "proof")], "must be text that begins"),
        ([*START, ("text", "**A.** It.", "fold", "label:a")], "has a label"),
        ([START[0], START[2], START[1], ("code", "epsilon")], "first three cells"),
        ([("text", "# Title"), *START[1:]], "in a paragraph under it"),
    ],
)
def test_what_is_amiss_in_a_notebook_is_said(tmp_path, cells, why):
    notebook.write(make_notebook(*cells), tmp_path / "x.ipynb")
    said = faults(tmp_path / "x.ipynb")
    assert len(said) == bool(why)
    assert not why or why in said[0]


def test_hidden_code_is_hidden_in_jupyter_too():
    nb = make_notebook(*START, ("code", "say(1)", "remove-input"))
    assert nb.cells[-1].metadata["jupyter"] == {"source_hidden": True}
    assert "jupyter" not in nb.cells[2].metadata
    assert notebook.strip(nb) == nb


def test_boxes_are_numbered_in_reading_order_and_called_so_and_no_name_is_used_twice():
    labels, called, wrong = [], {}, []
    for path in notebook_paths(ROOT):
        for cell in notebook.read(path).cells:
            labels.append(notebook.shown_label(cell))
            box = re.match(r"\*\*([A-Z][a-z]+ [O\d.]+)(?: \(|\.\*\*)", cell.source)
            if cell.cell_type == "markdown" and box:
                called[notebook.label(cell)] = box[1]
                labels += [] if "exercise" in notebook.tags(cell) else [box[1]]
    for path in [*notebook_paths(ROOT), *(ROOT / "book").rglob("*.md")]:
        text = path.read_text(encoding="utf-8")
        labels += re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)
        for words, name in re.findall(r"\[([A-Z][a-z]+ O?\d[\d.]*)\]\([^()\s]*#([\w-]+)\)", text):
            if called.get(name, words) != words:
                wrong.append(f"{path.name}: {words} is {called[name]}")
    assert any(label.endswith(" O1") for label in labels)
    assert [name for name, times in Counter(filter(None, labels)).items() if times > 1] == []
    assert wrong == []
    assert [path.name for path in renumbered(ROOT)] == []


def test_numbers_and_links_follow_the_order_of_the_pages(tmp_path):
    one = make_notebook(
        ("text", "# One\n\nText. See [Theorem O1](one.ipynb#second)."),
        ("code", "a = 1", "parameters"),
        ("text", "**Theorem O7 (First).** A.", "theorem", "label:first"),
        ("code", "%%say\nSee [Lemma O1](two.ipynb#second) for {{ a|n }}."),
    )
    two = make_notebook(
        ("text", "# Two\n\nText."),
        ("code", "a = 1", "parameters"),
        ("text", "**Lemma O1 (Second).** B, as [the first](#first).", "lemma", "label:second"),
        ("text", "**Theorem 3.1 (The paper's).** C.", "theorem", "label:third"),
    )
    root = make_root(tmp_path, {"one": one, "two": two}, {})
    (root / "book" / "intro.md").write_text("# I\n\n[Theorem O7](x.ipynb#first)\n", "utf-8")
    for path, text in renumbered(root).items():
        path.write_text(text, encoding="utf-8")
    cells = notebook.read(root / "notebooks" / "one.ipynb").cells
    assert "[Theorem O2](two.ipynb#second)" in cells[0].source
    assert cells[2].source.startswith("**Theorem O1 (First)")
    assert "[Lemma O2](two.ipynb#second)" in cells[3].source
    cells = notebook.read(root / "notebooks" / "two.ipynb").cells
    assert cells[2].source == "**Lemma O2 (Second).** B, as [the first](one.ipynb#first)."
    assert cells[3].source.startswith("**Theorem 3.1")
    assert "[Theorem O1](../notebooks/one.ipynb#first)" in (root / "book/intro.md").read_text()
    assert renumbered(root) == {}


def test_old_addresses_lead_to_the_new_pages(tmp_path):
    root = make_root(tmp_path, {}, {})
    (root / "book" / "_redirects.yml").write_text("# nothing has moved\n", "utf-8")
    stage_redirects(root, tmp_path)
    moved = "notebooks/old: notebooks/new#place\nteach/notes: teach/lesson\napi: intro\n"
    (root / "book" / "_redirects.yml").write_text(moved, "utf-8")
    stage_redirects(root, tmp_path)
    new = {"notebooks/old": "new.html#place", "teach/notes": "lesson.html", "api": "intro.html"}
    for page, place in new.items():
        assert f'url={place}"' in (tmp_path / f"{page}.html").read_text("utf-8")
