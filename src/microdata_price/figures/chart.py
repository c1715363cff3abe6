"""Labelled axes in one call, and the range of positive curves on a logarithmic axis."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import LogLocator, NullLocator

from .style import panels


def chart(height, *, x, y, log="", xlim=None, ylim=None):
    """Open a figure with one labelled axes; `log` names its logarithmic axes, such as "xy"."""
    figure, (ax,) = panels(1, height=height)
    ax.set(xlabel=x, ylabel=y, **{f"{a}scale": "log" for a in log})
    for a in log:
        axis = getattr(ax, f"{a}axis")
        axis.set_major_locator(LogLocator(numticks=7))
        axis.set_minor_locator(NullLocator())
    if xlim is not None:
        ax.set_xlim(float(xlim[0]), float(xlim[-1]))
    if ylim is not None:
        ax.set_ylim(*ylim)
    return figure, ax


def positive(curves):
    """Return the range of all values above 0, with a factor 3 around it."""
    seen = np.concatenate([np.ravel(c)[np.ravel(c) > 0] for c in curves] + [np.ones(1)])
    return float(seen.min()) / 3, float(seen.max()) * 3
