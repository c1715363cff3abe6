"""Numbers of our own boxes run in reading order, and links name the page of their box."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from microdata_price.book import notebook
from microdata_price.book.extras import stage_redirects
from microdata_price.book.number import own_numbers, renumbered
from microdata_price.book.plan import notebook_paths
from microdata_price.page.say import MAGIC
from tiny_book import ROOT, make_notebook, make_root


def test_the_book_s_own_numbers_run_in_reading_order() -> None:
    assert own_numbers(ROOT)
    assert [path.name for path in renumbered(ROOT)] == []


def test_no_label_is_used_twice_and_no_box_is_called_like_another() -> None:
    labels: Counter[str] = Counter()
    titles: Counter[str] = Counter()
    for path in notebook_paths(ROOT):
        for cell in notebook.read(path).cells:
            shown = MAGIC.match(cell.source) if cell.cell_type == "code" else None
            labels.update([shown[2]] if shown and shown[1] != "say" else [])
            labels.update([notebook.label(cell)] if notebook.label(cell) else [])
            head = re.match(r"\*\*([A-Z][a-z]+ [O\d.]+)(?: \(|\.\*\*)", cell.source)
            if cell.cell_type == "markdown" and head and "exercise" not in notebook.tags(cell):
                titles.update([head[1]])
    for path in (ROOT / "book").rglob("*.md"):
        labels.update(re.findall(r"^\(([\w-]+)\)=$", path.read_text("utf-8"), re.MULTILINE))
    assert [name for name, times in labels.items() if times > 1] == []
    assert [name for name, times in titles.items() if times > 1] == []


def test_links_call_a_box_by_its_number() -> None:
    """Of the paper's own numbers, which are typed: the words of a link and the box agree."""
    called, wrong = {}, []
    for path in notebook_paths(ROOT):
        for cell in notebook.read(path).cells:
            head = re.match(r"\*\*([A-Z][a-z]+ [O\d.]+)(?: \(|\.\*\*)", cell.source)
            if cell.cell_type == "markdown" and notebook.label(cell) and head:
                called[notebook.label(cell)] = head[1]
    for path in [*notebook_paths(ROOT), *(ROOT / "book").rglob("*.md")]:
        text = path.read_text(encoding="utf-8")
        for words, name in re.findall(r"\[([A-Z][a-z]+ O?\d[\d.]*)\]\([^()\s]*#([\w-]+)\)", text):
            if called.get(name, words) != words:
                wrong.append(f"{path.name}: {words} is {called[name]}")
    assert called
    assert wrong == []


def test_numbers_and_links_follow_the_order_of_the_pages(tmp_path: Path) -> None:
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
    changed = renumbered(root)
    for path, text in changed.items():
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


def test_old_addresses_lead_to_the_new_pages(tmp_path: Path) -> None:
    root = make_root(tmp_path, {}, {})
    (root / "book" / "_redirects.yml").write_text(
        "notebooks/old: notebooks/new#place\nteach/notes: teach/lesson\napi: intro\n", "utf-8"
    )
    stage_redirects(root, tmp_path / "extra")
    page = (tmp_path / "extra" / "notebooks" / "old.html").read_text("utf-8")
    assert 'url=new.html#place"' in page
    assert 'url=lesson.html"' in (tmp_path / "extra/teach/notes.html").read_text("utf-8")
    assert 'url=intro.html"' in (tmp_path / "extra/api.html").read_text("utf-8")
