import numpy as np

from microdata_price.chapters.experiments import MICRO
from microdata_price.figures.experiments_price import Heat, glance_map
from microdata_price.page.style import render


def test_the_map_at_a_glance_has_a_dot_for_each_price_beyond():
    prices = np.geomspace(0.02, 7.0, 5 * len(MICRO)).reshape(5, -1)
    missing = np.where(np.arange(5)[:, None] < 2, np.nan, prices)
    parts = [Heat("Sum", list("abcde"), prices, [2]), Heat("Rows", list("abcde"), missing, [2])]
    figure = glance_map(parts, 2.0)
    for ax, part in zip(figure.axes, parts, strict=False):
        assert len(ax.collections[1].get_offsets()) == (part.values > 2.0).sum()
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == list("abcde")
    assert render(figure).startswith("<?xml")
