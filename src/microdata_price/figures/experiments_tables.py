"""All experiments in one picture."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import FixedLocator

from ..fitting import microdata_methods
from ..model.benchmark import FAMILIES
from ..model.privacy import level_of
from .marks import name_rows
from .price import plain_log
from .style import COLOURS, METHODS, drawn, panels


def _spread(ax, own, methods):
    for place, method in enumerate(methods):
        style = METHODS[method]
        for up, query_set, metric in ((-0.2, "sum", "total"), (0.2, "identity", "max")):
            mine = own["method"].eq(method) & own["query_set"].eq(query_set)
            price = own.loc[mine & own["metric"].eq(metric), "price"].to_numpy()
            if not price.size:
                continue
            ax.plot([price.min(), price.max()], [place + up] * 2, color=style.colour, linewidth=1.4)
            fill = style.colour if query_set == "sum" else "white"
            looks = {"color": style.colour, "markerfacecolor": fill, "markersize": 5.5}
            ax.plot(np.median(price), place + up, style.marker, **looks)


@drawn
def overview(prices, levels):
    """Draw every experiment small: a row a privacy level, a column a family of data sets.

    `prices`: rows with ``privacy``, ``level``, ``family``, ``method``, ``query_set``, ``metric``
    and ``price``; `levels`: pairs of kind and level, from the top.
    """
    methods = microdata_methods(dict.fromkeys(prices["method"]))
    families = [f for f in FAMILIES if prices["family"].eq(f).any()]
    across, height = len(families), 0.9 + 1.2 * len(levels)
    figure, axes = panels(across, len(levels), height=height, sharex=True, sharey=True)
    for k, (privacy, level) in enumerate(levels):
        line = axes[k * across : (k + 1) * across]
        same = prices["privacy"].eq(privacy) & prices["level"].eq(level)
        for ax, family in zip(line, families, strict=True):
            ax.axvline(1, color=COLOURS["black"], linewidth=1.2)
            _spread(ax, prices[same & prices["family"].eq(family)], methods)
            ax.grid(axis="y", visible=False)
        line[0].set_ylabel(level_of(privacy, level).plain, fontsize=11.5)
    for ax, family in zip(axes, families, strict=False):
        ax.set_title(FAMILIES[family].label, fontsize=12)
    axes[0].set_xscale("log")
    axes[0].xaxis.set_major_locator(FixedLocator([0.25, 0.5, 1, 2, 4, 8]))
    plain_log(axes[0], "x")
    axes[0].minorticks_off()
    name_rows(axes[0], [METHODS[m].label for m in methods])
    figure.supxlabel("price: root error over OLS's", fontsize=11.5)
    return figure
