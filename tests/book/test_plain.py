"""Plain Markdown, tags and links, and what the builder reads of them."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from microdata_price.book import notebook
from microdata_price.book.plain import (
    levels_line,
    read_terms,
    slug,
    with_links,
)
from microdata_price.book.quote import Found, collect, quote
from microdata_price.book.stage import download, page
from microdata_price.exceptions import BuildError
from microdata_price.page.style import METADATA_KEY
from tiny_book import ROOT, make_notebook

START = (
    ("text", "# Title\n\nWhat it is about."),
    ("code", "epsilon = 0.5  # level\ngrid_dir = ''", "parameters"),
    ("code", "import math\n\nassert math.pi > epsilon, grid_dir", "setup"),
)
THEOREM = ("text", "**Theorem 3.1 (Of $x$ (ours)).** It holds.", "theorem", "label:thm")


def staged(*cells: tuple[str, ...], said: str = "", solutions: bool = True) -> list[str]:
    """The sources that the builder reads; what is said is an output of the last cell."""
    nb = make_notebook(*START, *cells)
    if said:
        nb.cells[-1].outputs = [
            nbformat.v4.new_output("display_data", metadata={METADATA_KEY: {"say": said}})
        ]
    found = Found()
    collect("chapter", nb, found)
    made = page("chapter", nb, {"epsilon": 0.25}, found, solutions=solutions)
    return [c.source for c in made.cells[:-2]]  # without the levels and the foot


def test_parameters_and_imports_are_one_folded_cell() -> None:
    nb = make_notebook(*START, ("code", "math.e"))
    made = page("chapter", nb, {"epsilon": 0.25, "grid_dir": "/secret"}, Found(), solutions=True)
    assert len(made.cells) == 4
    levels = made.cells[2]
    assert levels.source.startswith("epsilon = 0.25  # level")
    assert "import math" in levels.source
    assert levels.metadata["mystnb"]["code_prompt_show"] == "Levels used: epsilon = 0.25"
    assert levels.metadata["tags"] == ["hide-input"]


def test_a_box_has_the_number_that_is_written() -> None:
    box = staged(THEOREM)[-1]
    assert box.startswith(
        ":::::::{admonition} Theorem 3.1 (Of $x$ (ours))\n:class: proof theorem\n"
    )
    assert ":name: thm\n\nIt holds." in box


def test_what_is_computed_for_a_box_stands_in_it() -> None:
    box = staged(THEOREM, ("code", "say(x)", "theorem", "remove-input"), said="Here it is 7.")[-1]
    assert box.count("{admonition}") == 1
    assert "It holds.\n\nHere it is 7." in box


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        (("text", "It holds.", "theorem", "label:t"), "must begin"),
        (("text", "**Lemma 3 (A).** It holds.", "theorem", "label:t"), "must begin"),
        (("text", "It holds.", "proof"), "begin '..Proof...'"),
        (("text", "**Solution.** It holds.", "proof"), "begin '..Proof...'"),
        (("code", "1 + 1", "solution"), "must be text"),
        (("text", "**Proof.** It holds.\n\n## A section", "proof"), "heading inside"),
    ],
)
def test_a_box_or_fold_without_its_head_is_an_error(cell: tuple[str, ...], why: str) -> None:
    with pytest.raises(BuildError, match=why):
        staged(cell)


def test_code_in_a_box_is_an_error() -> None:
    with pytest.raises(BuildError, match="code inside a box"):
        staged(THEOREM, ("code", "1 + 1", "theorem"))
    with pytest.raises(BuildError, match="code inside a box or state"):
        staged(("text", "**Pure DP.** One level.", "switch"), ("code", "1 + 1", "switch"))


def test_states_of_a_switch_are_the_tabs_of_one_set() -> None:
    made = staged(
        ("text", "Free text."),
        ("text", "**Pure DP.** One level.", "switch"),
        ("text", "**zCDP.**", "switch"),
        ("text", "Gaussian noise.", "switch"),
        ("code", "say(x)", "switch", "remove-input"),
        said="Here it is 7.",
    )
    assert made[-2] == "Free text."
    assert made[-1].count("{tab-set}") == 1
    first, second = made[-1].split("{tab-item} ")[1:]
    assert first.startswith("Pure DP\n\nOne level.\n:")
    assert second.startswith("zCDP\n\nGaussian noise.\n\nHere it is 7.\n:")
    with pytest.raises(BuildError, match="each state must be text"):
        staged(("code", "say(x)", "switch", "remove-input"), said="Here it is 7.")


def test_proofs_and_solutions_fold_with_their_code() -> None:
    made = staged(
        ("text", "**Exercise 2 (Try).** Why?", "exercise", "label:ex"),
        ("text", "**Solution.** Because.", "solution"),
        ("code", "assert 1", "solution"),
        ("text", "So it is.", "solution"),
        ("text", "Free text."),
        ("text", "*Proof of (a), $x$.* Trivial.", "proof"),
    )
    assert "<summary>Solution of Exercise 2</summary>" in made[-9]
    assert made[-8:-5] == ["Because.", "assert 1", "So it is."]
    assert made[-5].startswith("</div>\n</details>")
    assert made[-4] == "Free text."
    assert (
        '<summary>Proof of (a), <span class="math notranslate">\\(x\\)</span></summary>' in made[-3]
    )


def test_what_is_long_folds_under_its_own_title() -> None:
    made = staged(
        ("text", "**Tables of the lists.** All of them.", "fold"),
        ("code", "assert 1", "fold"),
        ("text", "**Tables of the squares.**", "fold"),
        ("code", "assert 2", "fold"),
    )
    assert [
        s.partition("<summary>")[2].partition("</summary>")[0] for s in made if "<summ" in s
    ] == [
        "Tables of the lists",
        "Tables of the squares",
    ]
    assert made[made.index("All of them.") + 1] == "assert 1"
    with pytest.raises(BuildError, match="must be text"):
        staged(("code", "assert 1", "fold"))


def test_two_boxes_of_a_kind_in_a_row_are_two() -> None:
    made = staged(THEOREM, ("text", "**Theorem 4 (B).** Too.", "theorem"))
    assert sum("{admonition}" in source for source in made) == 2


def test_without_solutions_there_is_nothing_of_them() -> None:
    cells = (
        ("text", "**Exercise 1 (Try).** Why?", "exercise"),
        ("text", "**Solution.** Because 43112609.", "solution"),
        ("code", "assert 43112609", "solution"),
    )
    assert "43112609" in json.dumps(staged(*cells))
    assert "43112609" not in json.dumps(staged(*cells, solutions=False))
    nb = make_notebook(*START, *cells)
    assert "43112609" not in json.dumps(download(nb, {}, Found(), solutions=False))


TERMS = {"point-query": "point query"}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("[Theorem 3.1](lower.ipynb#thm)", "[Theorem 3.1](#thm)"),
        ("[the theorem](lower.ipynb#thm)", "[the theorem](#thm)"),
        ("[Figure](lower.ipynb#fig)", "{numref}`fig`"),
        ("[this picture](lower.ipynb#fig)", "[this picture](#fig)"),
        ("[(1)](lower.ipynb#eq-1)", "[(1)](#lower-eq-1)"),
        ("[there](../book/teach/lessons.md#here)", "[there](#here)"),
        ("[them](../book/teach/lessons.md)", "[them](../teach/lessons.md)"),
        ("[pages](lower.ipynb)", "[pages](lower.ipynb)"),
        (
            "[Queries](../book/reference/notation.md#point-query)",
            "{term}`Queries <point query>`",
        ),
        ("[A. (2021)](../book/references.bib#abowd2021)", "{cite:t}`abowd2021`"),
        ("[(A. 2021)](../book/references.bib#abowd2021)", "{cite:p}`abowd2021`"),
        ("[x](https://example.org/a#b)", "[x](https://example.org/a#b)"),
        ("![x](a.ipynb#b) $f[x](y)$", "![x](a.ipynb#b) $f[x](y)$"),
    ],
)
def test_links_become_references(written: str, read: str) -> None:
    assert with_links(written, "chapter", TERMS) == read


def test_a_term_that_the_glossary_lacks_is_an_error() -> None:
    with pytest.raises(BuildError, match="no term 'point'; did you mean point-query"):
        with_links("[x](../book/reference/notation.md#point)", "chapter", TERMS)


def test_equations_and_labelled_cells_are_places_on_the_page() -> None:
    made = staged(("text", "Let\n\n$$ x = 1 \\tag{1} $$\n\nSee [(1)](#eq-1).", "label:here"))[-1]
    assert made.startswith("(here)=\nLet")
    assert "(chapter-eq-1)=\n$$ x = 1" in made
    assert made.endswith("See [(1)](#chapter-eq-1).")


def test_the_glossarys_terms_are_read() -> None:
    terms = read_terms(ROOT / "book")
    assert terms["zcdp"] == "zCDP"
    assert terms[slug("group privacy")] == "group privacy"
    assert len(terms) > 20
    assert read_terms(Path("nowhere")) == {}


def test_prose_pages_quote_what_notebooks_record() -> None:
    nb = make_notebook(*START)
    about = {METADATA_KEY: {"record": {"bias": "7 ± 1"}}}
    nb.cells[-1].outputs = [nbformat.v4.new_output("display_data", metadata=about)]
    found = Found()
    collect("chapter", nb, found)
    assert found.unused() == ["chapter/bias"]
    assert quote("It is {{ chapter.bias }}.", "intro", found) == "It is 7 ± 1."
    assert found.unused() == []
    with pytest.raises(BuildError, match="'chapter' does not define"):
        quote("{{ chapter.none }}", "intro", found)


def test_the_line_of_levels_is_short() -> None:
    assert levels_line({"grid_dir": "/a"}, ["grid_dir"]) == "Imports"
    assert levels_line({"rhos": [0.5, 1.0], "x": None, "note": "a"}) == (
        "Levels used: rhos = 0.5; 1, note = a"
    )


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ([("text", "See {ref}`x`.")], "mark that Jupyter shows"),
        ([("text", "```{note}\nx\n```")], "mark that Jupyter shows"),
        ([("code", f"x = {'1' * 100}")], "line of 104 characters"),
        ([("code", "\n".join("x" * 9), "remove-input")], "has 9 lines; at most 8"),
        ([("code", "\n".join("x" * 31))], "has 31 lines; at most 30"),
        ([("code", "\n".join("x" * 8), "remove-input")] * 5, "42 lines of code are hidden"),
        ([("code", "'a' if epsilon else 'b'")], "conditional expression"),
        ([("code", "x = (f'{1}'\n    f'{2}')")], "f-string over several lines"),
        ([("text", "## Section"), ("code", "1")], "begins with code"),
        ([("code", "import json\njson.loads('[1]')")], "ends in json.loads(...)"),
        ([("text", "It holds.", "theorem", "label:t")], "must begin"),
    ],
)
def test_what_is_amiss_in_a_plain_notebook_is_said(
    tmp_path: Path, cells: list[tuple[str, ...]], why: str
) -> None:
    path = tmp_path / "x.ipynb"
    notebook.write(make_notebook(*START, *cells), path)
    said = notebook.faults(path)
    assert len(said) == 1
    assert why in said[0]


def test_the_first_cells_come_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    good = [("text", "## Section\n\nText."), ("code", "1"), ("code", "say(1)", "remove-input")]
    notebook.write(make_notebook(*START, *good), path)
    assert notebook.faults(path) == []
    notebook.write(
        make_notebook(("text", "# T"), START[2], START[1], ("code", "epsilon, grid_dir")), path
    )
    assert "first three cells" in notebook.faults(path)[0]
    assert "in a paragraph under the title" in notebook.faults(path)[1]


def test_hidden_code_is_hidden_in_jupyter_too() -> None:
    nb = make_notebook(*START, ("code", "say(1)", "remove-input"))
    assert nb.cells[-1].metadata["jupyter"] == {"source_hidden": True}
    assert "jupyter" not in nb.cells[2].metadata
    assert notebook.strip(nb) == nb
