"""Figures for the site: both themes, letters that can be read."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

from microdata_price.base.colours import COLOURS, on_dark
from microdata_price.book import notebook
from microdata_price.book.compare import comparison
from microdata_price.book.picture import SMALLEST, for_the_site
from microdata_price.book.run import Run
from microdata_price.figures.difficult import one_draw
from microdata_price.figures.experiments_price import Heat, glance_map
from microdata_price.figures.scales import price_shades
from microdata_price.page.style import Figure, drawn, panels, render
from tiny_book import make_notebook

PAPER = "#121212"
KINDS = ((0, "svg"), (1, "png"))


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", [c for c in COLOURS if c != "light"])
def test_a_colour_can_be_read_on_dark_paper(name: str) -> None:
    assert on_dark("#ffffff") == PAPER
    assert contrast(on_dark(COLOURS[name]), PAPER) > 4.5


def test_grid_lines_and_tints_stay_faint_on_dark_paper() -> None:
    for faint in ("#e3e3e3", "#f2f2f2", "#d9d9d9", "#e9f1f8"):
        assert 1 < contrast(on_dark(faint), PAPER) < 1.7


def picture(size: float = 12.0) -> str:
    @drawn
    def draw() -> Figure:
        figure, (ax,) = panels()
        ax.pcolormesh(np.array([[0.1, 5.0]]), cmap=price_shades())
        ax.text(0.5, 0.5, "1.0", fontsize=size, color="#262626")
        return figure

    return render(draw())


def test_every_colour_has_a_counterpart_but_those_of_a_scale() -> None:
    shown = for_the_site(picture())
    style = re.findall(r"<style>(.*?)</style>", shown, re.DOTALL)[0]
    assert style.startswith("@media (prefers-color-scheme: dark)")
    outside = re.sub(r'<g id="QuadMesh.*?</g>', "", picture(), flags=re.DOTALL)
    for what, colour in re.findall(r"\b(fill|stroke): (#[0-9a-f]{6})", outside):
        assert f'[style*="{what}: {colour}"]' in style
    cell = re.findall(r"fill: (#[0-9a-f]{6})", picture()[picture().index('id="QuadMesh') :])[0]
    assert cell not in style
    assert 'id="cell-text"' in shown


def test_a_map_with_missing_prices_keeps_the_colours_that_its_scale_names() -> None:
    prices = np.array([[0.4, 2.5], [np.nan, 0.6]])
    drawing = render(glance_map([Heat("rows", ["a", "b"], prices, [])], 2.0))
    parts = re.findall(r'<g id="(?:PolyQuadMesh|scale-end).*?</g>', drawing, re.DOTALL)
    style = re.findall(r"<style>(.*?)</style>", for_the_site(drawing), re.DOTALL)[0]
    fills = set(re.findall(r"fill: (#[0-9a-f]{6})", "".join(parts)))
    assert len(parts) == 3  # the map and both ends of its scale
    assert len(fills) == 5
    assert not [c for c in fills if f'"fill: {c}"' in style]
    assert '[id^="PolyQuadMesh"] ~ [id^="PathCollection"] *' in style


def test_runs_are_compared_by_their_pictures_and_their_words(tmp_path: Path) -> None:
    runs = []
    for i, size in enumerate((5.0, 12.0)):
        same = nbformat.v4.new_output("stream", text="the same")
        shown = [
            {"image/svg+xml": picture(size), "text/plain": f"letters of {size}"},
            {"image/png": base64.b64encode(b"png%d" % i).decode()},
            {"text/plain": f"a < {i}"},
        ]
        nb = make_notebook(("text", "# Own\n\nText."), ("code", "f()"), ("code", "g()"))
        nb.cells[1].outputs = [same]
        nb.cells[2].outputs = [nbformat.v4.new_output("display_data", data) for data in shown]
        notebook.write(nb, tmp_path / f"{i}.ipynb")
        runs.append(Run("own", tmp_path / f"{i}.ipynb", 1.0, "2026-01-01", {}, {}))
    text, pictures = comparison(runs, [{"size": 5}, {"size": 12}])
    assert text.startswith("# Own: 2 runs compared\n")
    assert "the same" not in text
    assert [*pictures] == [f"compare-{i}-1-{j}.{end}" for i in (0, 1) for j, end in KINDS]
    assert all(f"{{image}} images/{name}\n" in text for name in pictures)
    assert pictures["compare-1-1-1.png"] == b"png1"
    assert pictures["compare-1-1-0.svg"].decode() == for_the_site(picture(12.0))
    for words in ("**size = 12**", ':alt: "letters of 12.0"', "<pre>a &lt; 1</pre>"):
        assert words in text


@pytest.mark.parametrize("size", [5.0, 12.0])
def test_a_pictures_own_width_makes_its_smallest_letters_legible(size: float) -> None:
    shown = for_the_site(picture(size))
    width = float(re.findall(r'<svg[^>]*\bwidth="([\d.]+)"', shown)[0])
    box = float(re.findall(r'viewBox="0 0 ([\d.]+)', shown)[0])
    assert width * min(size, 11) / box == pytest.approx(SMALLEST, rel=0.01)


def test_powers_of_ten_have_no_raised_digits() -> None:
    svg = render(one_draw(np.geomspace(300, 1, 50), 1.0, 3.0))
    assert not re.search(r"<use [^>]*scale\(0\.7\)", svg)
