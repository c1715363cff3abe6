"""Texts with computed numbers: filled in, refused, and published as the book expects."""

from types import SimpleNamespace

import pytest
from IPython.core.magic import MAGIC_NO_VAR_EXPAND_ATTR

from microdata_price.book import notebook
from microdata_price.exceptions import InputError
from microdata_price.page.say import load_ipython_extension, names_of, render
from tiny_book import make_notebook


class Computed:
    """A chapter's numbers."""

    cells = 1000
    _private = 3


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{{ cells|n }} cells", "1,000 cells"),
        ("at least {{ x|low }}, at most {{ x|high }}", "at least 2.71, at most 2.72"),
        ("about {{ x|n(2) }}", "about 2.7"),
        ("a{% if x > 3 %} b{% endif %} c", "a c"),
    ],
)
def test_numbers_come_from_the_notebook_and_its_found(text, filled):
    assert render(text, {"x": 2.71828, "found": Computed()}) == filled


@pytest.mark.parametrize("text", ["{{ nothing }}", "{{ _private }}", "{{ x|unknown }}", "{{ x"])
def test_a_text_that_cannot_be_filled_in_is_an_error(text):
    with pytest.raises(InputError, match="cannot be filled in"):
        render(text, {"x": 1.0, "found": Computed()})


def test_a_text_reads_what_it_asks_for_and_hides_its_source_on_the_site():
    source = "%%figure label draw(x)\nHere epsilon is {{ y|n }}."
    assert names_of(source) == {"draw", "x", "y"}
    assert notebook.names_in(source) == ({"draw", "x", "y"}, set())
    (cell,) = notebook.strip(make_notebook(("code", "%%say\nA text of ours."))).cells
    assert notebook.tags(cell) == ["remove-input"]
    for source in ("%%say\nHello {{ x y }}.", "%%figure a draw(x y)\nText."):  # not to be read
        assert {"x", "y"} <= names_of(source)


def test_mathematics_and_braces_in_an_expression_stay_as_they_are():
    seen = {}
    load_ipython_extension(
        SimpleNamespace(register_magic_function=lambda magic, _, name: seen.update({name: magic}))
    )
    assert set(seen) == {"say", "figure", "table"}
    assert all(getattr(magic, MAGIC_NO_VAR_EXPAND_ATTR) for magic in seen.values())
