from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import microdata_price.figures as package
from microdata_price.exceptions import InputError
from microdata_price.fitting import METHODS
from microdata_price.page.style import COLOURS, describe, drawn, panels, render

GOOD = {"alt": "A line that falls from left to right.", "caption": "The price falls with epsilon."}


@drawn
def line() -> Figure:
    figure, (ax,) = panels()
    ax.plot([1, 2], [2, 1])
    ax.set_xlabel("x")
    return figure


def luminance(colour: str) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def test_every_method_has_a_look_of_its_own_in_shape_and_dash() -> None:
    for part in ("label", "colour", "marker", "dash"):
        assert len({str(getattr(m, part)) for m in METHODS.values()}) == len(METHODS), part


def test_method_colours_stand_out_from_a_white_page() -> None:
    for style in METHODS.values():
        assert 1.05 / (luminance(style.colour) + 0.05) > 2.2, style
    # Colours in which text is written.
    for name in ("black", "blue", "green", "red", "grey"):
        assert 1.05 / (luminance(COLOURS[name]) + 0.05) > 4.5, name


def test_one_picture_is_the_same_file_every_time() -> None:
    assert render(line()) == render(line())
    assert "<image" not in render(line())


@pytest.mark.parametrize("bad", ["", "   ", "figure", "no full stop at the end of this one", None])
def test_missing_texts_are_errors(bad: str) -> None:
    for part, name in (("alt", "alternative text"), ("caption", "caption")):
        with pytest.raises(InputError, match=f"the {name} of figure 'some-figure'"):
            describe(line(), "some-figure", **{**GOOD, part: bad})


@pytest.mark.parametrize("name", ["", "Big", "under_score", "1st", "a--b", "a b", "é"])
def test_names_that_cannot_be_links_and_figures_that_nobody_drew_are_errors(name: str) -> None:
    with pytest.raises(InputError, match="figure's name"):
        describe(line(), name, **GOOD)
    with pytest.raises(InputError, match="@drawn"):
        describe(Figure(), "some-figure", **GOOD)


def test_a_caption_is_one_line() -> None:
    described = describe(line(), "some-figure", GOOD["alt"], "One sentence\n   on two lines.")
    assert described["caption"] == "One sentence on two lines."


def test_every_public_function_that_returns_a_figure_is_drawn() -> None:
    found = 0
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if inspect.isfunction(value) and value.__module__ == module.name and name[0] != "_":
                source = inspect.getsource(inspect.unwrap(value))
                # What is given a figure gives one that was drawn another shape.
                if "return figure\n" in source and "(figure" not in source.partition(":")[0]:
                    assert hasattr(value, "__wrapped__"), f"{module.name}.{name} lacks @drawn"
                    found += 1
    assert found > 40
