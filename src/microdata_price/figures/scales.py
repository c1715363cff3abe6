"""The two scales of colours: each means the same in every picture that has it."""

from __future__ import annotations

import numpy as np
import seaborn as sns
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm

_MOST = 3.0
PRICES = {"1/3": 1 / 3, "1/2": 1 / 2, "1": 1, "1.5": 1.5, "2": 2, "3": 3}
"""Prices, ratios of root errors, that the scale's bar names."""


def record_shades():
    """Return the scale of records: light for few, dark for many, white for none."""
    colours = colormaps["cividis_r"](np.linspace(0.15, 1, 256))
    return ListedColormap(colours).with_extremes(under="white")


def price_shades():
    """Return the scale of prices: blue for cheap, red for dear, palest where the price is 1."""
    return ListedColormap(sns.color_palette("vlag", 255).as_hex())


def price_norm():
    """Return the place of a price on its scale: 1 in the middle, a third and 3 at the ends.

    >>> norm = price_norm()
    >>> [round(float(norm(v)), 3) for v in (0.001, 1 / 3, 1.0, 3.0, 100.0)]
    [0.0, 0.0, 0.5, 1.0, 1.0]
    """
    return LogNorm(1 / _MOST, _MOST, clip=True)


def price_bar(figure, axes, label, **kwargs):
    """Put the scale of prices below axes."""
    look = {"location": "bottom", "aspect": 40, "extend": "both", "extendfrac": 0.02}
    bar = figure.colorbar(ScalarMappable(price_norm(), price_shades()), ax=axes, **look, **kwargs)
    bar.set_ticks(list(PRICES.values()), labels=list(PRICES))
    bar.minorticks_off()
    bar.set_label(label)
