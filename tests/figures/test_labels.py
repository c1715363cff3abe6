"""Names lie on no curve where there is room beside them."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from microdata_price.studies import lower_pure as pure_chapter
from microdata_price.studies import plane as plane_chapter
from microdata_price.studies import sharper as sharper_chapter

from microdata_price.figures import lower, operating, sharper
from microdata_price.figures import plane as several_planes
from microdata_price.figures.labels import Name, _drawn_points, along, place_names, size_label
from microdata_price.page.style import panels


def crossed(figure: Figure) -> list[str]:
    """The names that some line of their axes runs through."""
    figure.draw_without_rendering()
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    found = []
    for ax in figure.axes:
        _, lines = _drawn_points(ax)
        for text in ax.texts:
            if text.get_window_extent(renderer).padded(-1).count_contains(lines):
                found.append(text.get_text())
    return found


@pytest.mark.parametrize("kind", ["pure", "approximate", "zcdp"])
def test_the_planes_names_lie_beside_their_curves(kind: str) -> None:
    one = getattr(plane_chapter.study(), kind)
    assert crossed(operating.plane(one.sum_errors, one.curves, *one.places)) == []


def test_so_do_the_numbers_of_cells_of_several_planes() -> None:
    found = plane_chapter.study()
    reach, edges, marks, fits = found.several
    named = [(size_label(n), e) for n, e in zip(found.sizes, edges, strict=True)]
    # Ten cells' two marks lie close under a line; its name touches that line with a corner only.
    assert set(crossed(several_planes.planes(reach, named, marks, fits))) <= {size_label(10)}


def test_so_do_the_numbers_of_cells_of_pure_privacys_bounds() -> None:
    found = pure_chapter.curves(0.5, [10**4, 10**6, 10**9, 10**12])
    named = [(size_label(d), c) for d, c in zip(found.ds, found.bounds, strict=True)]
    points = (found.sum_errors, named, found.points, found.star)
    assert crossed(lower.point_curves(*points)) == []


def test_so_do_the_names_of_the_sharper_bounds() -> None:
    found = sharper_chapter.study()
    signed = found.pure.signed_error
    marks = ((signed, signed), found.own)
    assert (
        crossed(sharper.bounds_compared(found.sum_errors, found.curves, found.reached, *marks))
        == []
    )
    shown = [(name, f.lower, f.upper) for name, f in found.leads.items()]
    assert crossed(sharper.leading(found.sizes, shown, ("no mechanism\nbelow", "reached"))) == []


@pytest.mark.parametrize("level", [0.2, 0.5, 0.8])
def test_a_line_across_the_axes_is_no_place_for_a_name(level: float) -> None:
    figure, (ax,) = panels(1)
    x = np.linspace(0, 1, 50)
    ax.plot(x, x)
    ax.axhline(level)
    ax.axvline(0.5)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    flat = np.full(x.shape, level)
    place_names(
        ax, [Name("a level", "red", along(x, flat, 0.5)), Name("rising", "blue", along(x, x))]
    )
    assert crossed(figure) == []
