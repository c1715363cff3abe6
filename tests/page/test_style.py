"""The common style of figures, and what may be shown on a page."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from microdata_price.base.colours import on_dark
from microdata_price.exceptions import InputError
from microdata_price.figures.style import COLOURS, drawn, panels, render
from microdata_price.fitting import METHODS
from microdata_price.page.output import offer, show, table_markdown

SENTENCE = "The price falls with epsilon."


@drawn
def line():
    figure, (ax,) = panels()
    ax.plot([1, 2], [2, 1])
    ax.set_xlabel("x")
    return figure


def light(colour):
    c = np.array(to_rgb(colour))
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ (
        0.2126,
        0.7152,
        0.0722,
    )


def contrast(one, other):
    low, high = sorted([light(one) + 0.05, light(other) + 0.05])
    return high / low


def test_colours_can_be_told_and_read_on_light_and_dark_paper():
    for part in ("label", "colour", "marker", "dash"):
        assert len({str(getattr(m, part)) for m in METHODS.values()}) == len(METHODS), part
    paper = on_dark("#ffffff")
    assert paper == "#121212"
    for style in METHODS.values():
        assert contrast(style.colour, "#ffffff") > 2.2, style
    for name in ("black", "blue", "green", "red", "grey"):  # in which text is written
        assert contrast(COLOURS[name], "#ffffff") > 4.5, name
    for name in {*COLOURS} - {"light"}:
        assert contrast(on_dark(COLOURS[name]), paper) > 4.5, name
    for faint in ("#e3e3e3", "#f2f2f2", "#d9d9d9", "#e9f1f8"):  # grid lines and tints
        assert 1 < contrast(on_dark(faint), paper) < 1.7


def test_one_picture_is_the_same_file_every_time():
    assert render(line()) == render(line())
    assert "<image" not in render(line())


FRAME = pd.DataFrame({"a": [1]})


REFUSED = [
    *((line(), name, SENTENCE, SENTENCE, "figure's name") for name in ("", "Big", "1st", "é")),
    *((FRAME, name, SENTENCE, "", "table's name") for name in ("under_score", "a--b", "a b")),
    *(
        (line(), "a-b", *texts, f"the {what} of figure 'a-b' is")
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
    frame = pd.DataFrame({"who|": ["a|b", "c"], "n": [1.5, float("nan")]})
    lines = table_markdown(frame).splitlines()
    assert lines[1:] == ["| :--- | ---: |", "| a\\|b | 1.5 |", "| c | – |"]
    small = table_markdown(pd.DataFrame({"n": [3e-7], "said": ["at most 2 × 10⁻⁷"]}))
    assert small.splitlines()[2] == "| 3\u00a0×\u00a010⁻⁷ | at most 2\u00a0×\u00a010⁻⁷ |"
