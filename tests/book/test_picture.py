"""Figures for the site: both themes, letters that can be read."""

import base64
import re

import nbformat
import numpy as np
import pytest

from microdata_price.book import notebook
from microdata_price.book.one import comparison
from microdata_price.book.run import Run
from microdata_price.figures.difficult import one_draw
from microdata_price.figures.experiments_price import Heat, glance_map
from microdata_price.figures.picture import SMALLEST, for_the_site
from microdata_price.figures.scales import price_shades
from microdata_price.figures.style import drawn, panels, render
from microdata_price.page.output import METADATA_KEY
from tiny_book import make_notebook

KINDS = ((0, "svg"), (1, "png"))


def picture(size=12.0):
    @drawn
    def draw():
        figure, (ax,) = panels()
        ax.pcolormesh(np.array([[0.1, 5.0]]), cmap=price_shades())
        ax.text(0.5, 0.5, "1.0", fontsize=size, color="#262626")
        return figure

    return render(draw())


def test_every_colour_has_a_counterpart_but_those_of_a_scale():
    shown = for_the_site(picture())
    style = re.findall(r"<style>(.*?)</style>", shown, re.DOTALL)[0]
    assert style.startswith("@media (prefers-color-scheme: dark)")
    outside = re.sub(r'<g id="QuadMesh.*?</g>', "", picture(), flags=re.DOTALL)
    for what, colour in re.findall(r"\b(fill|stroke): (#[0-9a-f]{6})", outside):
        assert f'[style*="{what}: {colour}"]' in style
    cell = re.findall(r"fill: (#[0-9a-f]{6})", picture()[picture().index('id="QuadMesh') :])[0]
    assert cell not in style
    assert 'id="cell-text"' in shown


def test_a_map_with_missing_prices_keeps_the_colours_that_its_scale_names():
    prices = np.array([[0.4, 2.5], [np.nan, 0.6]])
    drawing = render(glance_map([Heat("rows", ["a", "b"], prices, [])], 2.0))
    parts = re.findall(r'<g id="(?:PolyQuadMesh|scale-end).*?</g>', drawing, re.DOTALL)
    style = re.findall(r"<style>(.*?)</style>", for_the_site(drawing), re.DOTALL)[0]
    fills = set(re.findall(r"fill: (#[0-9a-f]{6})", "".join(parts)))
    assert len(parts) == 3  # the map and both ends of its scale
    assert len(fills) == 5
    assert not [c for c in fills if f'"fill: {c}"' in style]
    assert '[id^="PolyQuadMesh"] ~ [id^="PathCollection"] *' in style


def test_runs_are_compared_by_their_pictures_and_their_words(tmp_path):
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
        about = {METADATA_KEY: {"certificate": i}}
        told = nbformat.v4.new_output("display_data", {"text/plain": f"worst {i}"}, metadata=about)
        nb.cells[2].outputs.append(told)
        notebook.write(nb, tmp_path / f"{i}.ipynb")
        runs.append(Run("own", tmp_path / f"{i}.ipynb", 1.0, "2026-01-01", {}))
    pictures = comparison(runs, [{"size": 5}, {"size": 12}])
    text = pictures.pop("comparison.md").decode()
    assert text.startswith("# Own: 2 runs compared\n")
    assert "the same" not in text
    assert "worst" not in text
    assert [*pictures] == [f"images/compare-{i}-2-{j}.{end}" for i in (0, 1) for j, end in KINDS]
    assert all(f"{{image}} {name}\n" in text for name in pictures)
    assert pictures["images/compare-1-2-1.png"] == b"png1"
    assert pictures["images/compare-1-2-0.svg"].decode() == for_the_site(picture(12.0))
    for words in ("**size = 12**", ':alt: "letters of 12.0"', "<pre>a &lt; 1</pre>"):
        assert words in text


@pytest.mark.parametrize("size", [5.0, 12.0])
def test_a_pictures_own_width_makes_its_smallest_letters_legible(size):
    shown = for_the_site(picture(size))
    width = float(re.findall(r'<svg[^>]*\bwidth="([\d.]+)"', shown)[0])
    box = float(re.findall(r'viewBox="0 0 ([\d.]+)', shown)[0])
    assert width * min(size, 11) / box == pytest.approx(SMALLEST, rel=0.01)
    assert "scale(0.7)" not in render(one_draw(np.geomspace(300, 1, 50), 1.0, 3.0))  # as in 10^2
