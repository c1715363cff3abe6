"""Texts with computed numbers, figures and tables: filled in, written, or refused."""

from types import SimpleNamespace

import pandas as pd
import pytest
from IPython.core.magic import MAGIC_NO_VAR_EXPAND_ATTR
from matplotlib.figure import Figure

from microdata_price.book import notebook
from microdata_price.exceptions import InputError
from microdata_price.figures.style import drawn, panels
from microdata_price.page.output import offer, show, table_markdown
from microdata_price.page.say import load_ipython_extension, names_of, render
from tiny_book import make_notebook

FOUND = SimpleNamespace(cells=1000, _private=3)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{{ cells|n }} cells", "1,000 cells"),
        ("at least {{ x|low }}, at most {{ x|high }}", "at least 2.71, at most 2.72"),
        ("{% for p in (7.3, 99.9996, 100) %}{{ p|percent }} {% endfor %}", "7.3 99.9996 100"),
        *(("about {{ x|n(2) }}", "about 2.7"), ("a{% if x > 3 %} b{% endif %} c", "a c")),
    ],
)
def test_numbers_come_from_the_notebook_and_its_found(text, filled):
    assert render(text, {"x": 2.71828, "found": FOUND}) == filled


@pytest.mark.parametrize("text", ["{{ nothing }}", "{{ _private }}", "{{ x|unknown }}", "{{ x"])
def test_a_text_that_cannot_be_filled_in_is_an_error(text):
    with pytest.raises(InputError, match="cannot be filled in"):
        render(text, {"x": 1.0, "found": FOUND})


def test_a_text_reads_what_it_asks_for_and_hides_its_source_on_the_site():
    source = "%%figure label draw(x)\nHere epsilon is {{ y|n }}."
    assert (names_of(source), set()) == notebook.names_in(source) == ({"draw", "x", "y"}, set())
    (cell,) = notebook.strip(make_notebook(("code", "%%say\nA text of ours."))).cells
    assert notebook.tags(cell) == ["remove-input"]
    for source in ("%%say\nHello {{ x y }}.", "%%figure a draw(x y)\nText."):  # not to be read
        assert {"x", "y"} <= names_of(source)


def test_mathematics_and_braces_in_an_expression_stay_as_they_are():
    seen = {}
    shell = SimpleNamespace(register_magic_function=lambda m, _, name: seen.update({name: m}))
    load_ipython_extension(shell)
    assert set(seen) == {"say", "figure", "table"}
    assert all(getattr(magic, MAGIC_NO_VAR_EXPAND_ATTR) for magic in seen.values())


SENTENCE, FRAME = "The price falls with epsilon.", pd.DataFrame({"a": [1]})
LINE = drawn(lambda: panels()[0])()
REFUSED = [
    *((LINE, name, SENTENCE, SENTENCE, "figure's name") for name in ("", "Big", "1st", "é")),
    *((FRAME, name, SENTENCE, "", "table's name") for name in ("under_score", "a--b", "a b")),
    *(
        (LINE, "a-b", *texts, f"the {what} of figure 'a-b' is")
        for bad in ("", "   ", "figure", "no full stop at the end of this one", None)
        for texts, what in (((SENTENCE, bad), "alternative text"), ((bad, SENTENCE), "caption"))
    ),
    (Figure(), "a-b", SENTENCE, SENTENCE, "marked with @drawn"),
    (FRAME, "a-b", "It has a {ref}`role` in it.", "", "has the mark"),
    (FRAME[:0], "a-b", SENTENCE, "", "no rows"),
    *((name, "a", "errors", "file's name") for name in ("", "errors", "Errors.csv", "../e.csv")),
    ("a.csv", "", "errors", "is empty"),
]


@pytest.mark.parametrize("given", REFUSED, ids=str)
def test_what_cannot_be_shown_is_refused(given):
    *arguments, said = given
    with pytest.raises(InputError, match=str(said)):
        (offer if isinstance(arguments[0], str) else show)(*arguments)


def test_tables_align_numbers_and_keep_missing_values_visible():
    frame = pd.DataFrame({"who|": ["a|b", "2 × 10⁻⁷"], "n": [1.5, float("nan")]})
    rows = ["| :--- | ---: |", "| a\\|b | 1.5 |", "| 2\u00a0×\u00a010⁻⁷ | – |"]
    assert table_markdown(frame).splitlines()[1:] == rows
