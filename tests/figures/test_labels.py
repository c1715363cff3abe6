"""Names lie on no curve where there is room beside them."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from microdata_price.figures.labels import Name, _drawn_points, along, place_names
from microdata_price.page.style import panels


def crossed(figure):
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


@pytest.mark.parametrize("level", [0.2, 0.5, 0.8])
def test_a_line_across_the_axes_is_no_place_for_a_name(level):
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
