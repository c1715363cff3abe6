"""Figures: names apart, dots in their places, colours and letters that can be told and read."""

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.transforms import Bbox

from microdata_price.base.colours import on_dark
from microdata_price.chapters.experiments import MICRO
from microdata_price.figures.difficult import one_draw
from microdata_price.figures.experiments_price import Heat, glance_map
from microdata_price.figures.labels import Name, _drawn_points, along, place_names
from microdata_price.figures.operating import plane
from microdata_price.figures.picture import SMALLEST, for_the_site
from microdata_price.figures.scales import price_shades
from microdata_price.figures.style import COLOURS, drawn, panels, render
from microdata_price.fitting import METHODS
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.lower.lower_bounds import point_error_bound
from microdata_price.theory.upper import operating_points as points
from microdata_price.theory.upper.redrawn import redrawn


def measuring(figure):
    """Draw a figure, and return what measures its texts."""
    figure.draw_without_rendering()
    return FigureCanvasAgg(figure).get_renderer()


@pytest.mark.parametrize("level", [0.2, 0.5, 0.8])
def test_a_line_across_the_axes_is_no_place_for_a_name(level):
    figure, (ax,) = panels(1)
    x = np.linspace(0, 1, 50)
    ax.plot(x, x)
    ax.axhline(level)
    ax.axvline(0.5)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    places = {"a level": along(x, np.full(x.shape, level), 0.5), "rising": along(x, x)}
    place_names(ax, [Name(name, "red", place) for name, place in places.items()])
    renderer = measuring(figure)
    _, lines = _drawn_points(ax)
    assert len(ax.texts) == 2
    for text in ax.texts:
        box = text.get_window_extent(renderer).padded(-1)
        assert not box.count_contains(lines), text.get_text()


AT = [(PureDP(0.5), 2), (PureDP(0.5), 10**12), (PureDP(10.0), 1000), (PureDP(1000.0), 10**12)]
AT += [(ApproximateDP(0.5, 1e-6), 1000), (ApproximateDP(10.0, 0.3), 10**12)]
AT += [(ApproximateDP(1000.0, 0.3), 2), (ConcentratedDP(0.125), 1000), (ConcentratedDP(10.0), 2)]


@pytest.mark.parametrize(("guarantee", "d"), AT, ids=str)
def test_names_are_apart_at_any_level(guarantee, d):
    unit = guarantee.signed_error
    marks = [points.clipping(guarantee, d), *points.fitted(guarantee, d)]
    marks += filter(None, [points.mapped(guarantee, d)])
    if isinstance(guarantee, ApproximateDP) and guarantee.epsilon <= 20:
        made = redrawn(guarantee.epsilon, guarantee.delta, d, unit)
        told = (np.array([x]) for x in (made.C, unit))
        marks.append(points.Operating("redrawn noise", "certified", *told, np.zeros(1)))
    path = points.split if isinstance(guarantee, ConcentratedDP) else points.asymmetric
    scaled = [replace(p, C=p.C / unit, D=p.D / unit) for p in [*marks, path(guarantee, d, 17)]]
    sums = np.geomspace(0.3, 3 * max(4.0, *(float(p.D.max()) for p in scaled)), 60)
    first, printed = (
        point_error_bound(n, guarantee, d, unit * sums) / unit for n in ("first_moment", "printed")
    )
    curves = {"channel": 1.02 * first, "first_moment": first, "printed": printed}
    figure = plane(sums, curves, scaled[:-1], scaled[-1])
    renderer = measuring(figure)
    for ax in figure.axes:
        boxes = {t.get_text(): t.get_window_extent(renderer) for t in ax.texts if t.get_text()}
        assert len(boxes) >= 2
        for (one, a), (other, b) in combinations(boxes.items(), 2):
            assert not a.overlaps(b), (one, other)
        room = ax.get_window_extent(renderer)
        assert Bbox.union([room, *boxes.values()]).bounds == room.bounds


def test_the_map_at_a_glance_has_a_dot_for_each_price_beyond():
    prices = np.geomspace(0.02, 7.0, 5 * len(MICRO)).reshape(5, -1)
    missing = np.where(np.arange(5)[:, None] < 2, np.nan, prices)
    parts = [Heat("Sum", list("abcde"), prices, [2]), Heat("Rows", list("abcde"), missing, [2])]
    figure = glance_map(parts, 2.0)
    for ax, part in zip(figure.axes, parts, strict=False):
        assert len(ax.collections[1].get_offsets()) == (part.values > 2.0).sum()
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == list("abcde")
    missing = glance_map([Heat("rows", ["a", "b"], np.array([[0.4, 2.5], [np.nan, 0.6]]), [])], 2.0)
    drawing = render(missing)
    parts = re.findall(r'<g id="(?:PolyQuadMesh|scale-end).*?</g>', drawing, re.DOTALL)
    style, fills = dark(drawing), set(re.findall(r"fill: (#[0-9a-f]{6})", "".join(parts)))
    assert (len(parts), len(fills)) == (3, 5)  # the map and both ends of its scale
    assert not [c for c in fills if f'"fill: {c}"' in style]
    assert '[id^="PolyQuadMesh"] ~ [id^="PathCollection"] *' in style


def dark(svg):
    """Return what the site adds to a drawing for the dark theme."""
    shown = for_the_site(svg)
    return re.findall(r"<style>(@media .prefers-color-scheme: dark.*)</style>", shown)[0]


def picture(size=12.0):
    @drawn
    def draw():
        figure, (ax,) = panels()
        ax.pcolormesh(np.array([[0.1, 5.0]]), cmap=price_shades())
        ax.text(0.5, 0.5, "1.0", fontsize=size, color="#262626")
        return figure

    return render(draw())


def test_every_colour_has_a_counterpart_but_those_of_a_scale():
    drawing = picture()
    outside = re.sub(r'<g id="QuadMesh.*?</g>', "", drawing, flags=re.DOTALL)
    for what, colour in re.findall(r"\b(fill|stroke): (#[0-9a-f]{6})", outside):
        assert f'[style*="{what}: {colour}"]' in dark(drawing)
    cell = re.findall(r"fill: (#[0-9a-f]{6})", drawing[drawing.index('id="QuadMesh') :])[0]
    assert cell not in dark(drawing)
    assert 'id="cell-text"' in for_the_site(drawing)


@pytest.mark.parametrize("size", [5.0, 12.0])
def test_a_pictures_own_width_makes_its_smallest_letters_legible_every_time(size):
    shown = for_the_site(picture(size))
    marks = ('width="', 'viewBox="0 0 ')
    width, box = (float(re.findall(rf"<svg[^>]*\b{m}([\d.]+)", shown)[0]) for m in marks)
    assert width * min(size, 11) / box == pytest.approx(SMALLEST, rel=0.01)
    assert "scale(0.7)" not in render(one_draw(np.geomspace(300, 1, 50), 1.0, 3.0))  # as in 10^2
    assert for_the_site(picture(size)) == shown
    assert "<image" not in shown


def contrast(*colours):
    c = np.array([to_rgb(colour) for colour in colours])
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    low, high = sorted(linear @ (0.2126, 0.7152, 0.0722) + 0.05)
    return high / low


def test_colours_can_be_told_and_read_on_light_and_dark_paper():
    for part in ("label", "colour", "marker", "dash"):
        assert len({str(getattr(m, part)) for m in METHODS.values()}) == len(METHODS), part
    assert (paper := on_dark("#ffffff")) == "#121212"
    for style in METHODS.values():
        assert contrast(style.colour, "#ffffff") > 2.2, style
    for name in ("black", "blue", "green", "red", "grey"):  # in which text is written
        assert contrast(COLOURS[name], "#ffffff") > 4.5, name
    for name in {*COLOURS} - {"light"}:
        assert contrast(on_dark(COLOURS[name]), paper) > 4.5, name
    for faint in ("#e3e3e3", "#f2f2f2", "#d9d9d9", "#e9f1f8"):  # grid lines and tints
        assert 1 < contrast(on_dark(faint), paper) < 1.7
