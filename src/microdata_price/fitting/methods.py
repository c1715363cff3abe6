"""The methods, each with all that is said of it anywhere, and one door to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from ..base.colours import COLOURS, Dash
from ..base.threads import one_thread
from ..exceptions import InputError, find
from ..model.measurement import Measurements
from ..optimize.memory import check_memory
from .consensus import fit_consensus
from .fit import Fit
from .max_fitting import fit_max
from .nnls import fit_nnls
from .ols import fit_ols
from .reweighted import fit_reweighted
from .sequential import fit_sequential
from .sequential_ols import fit_sequential_ols


@dataclass(frozen=True)
class Method:
    """One method: how it fits, what it is called, how it is drawn, what is known of it.

    Pictures tell methods apart by marker and dash as well as by colour.

    Examples
    --------
    >>> METHODS["sequential"].title, METHODS["nnls"].title, METHODS["nnls"].signed
    ('sequential fitting', 'NNLS', False)
    """

    name: str  # in commands and files
    function: Callable[[Measurements], Fit]
    label: str  # its name for readers
    colour: str  # how it is drawn, in matplotlib's words
    marker: str
    dash: Dash
    signed: bool = False  # whether cells may be negative: consistent answers, but no microdata
    # Which expected squared errors are known without simulation: those of all queries, or that of
    # the sum where it is asked first and published as ``max(0, noisy sum)``.
    known: Literal["", "sum", "all"] = ""
    ours: bool = False  # this book's and not the paper's

    @property
    def title(self) -> str:
        """Its name in a sentence."""
        one_word = self.label.islower() and " " not in self.label
        return f"{self.label} fitting" if one_word else self.label


_METHODS = (
    Method("ols", fit_ols, "OLS", COLOURS["black"], "s", "-", signed=True, known="all"),
    Method("nnls", fit_nnls, "NNLS", COLOURS["orange"], "o", (0, (5, 1.5))),
    Method("maxfit", fit_max, "max fitting", COLOURS["sky"], "^", (0, (1, 1))),
    Method(
        "sequential",
        fit_sequential,
        "sequential",
        COLOURS["blue"],
        "D",
        (0, (5, 1.5, 1, 1.5)),
        known="sum",
    ),
    Method(
        "reweighted", fit_reweighted, "reweighted", COLOURS["pink"], "X", (0, (3, 1, 1, 1, 1, 1))
    ),
    Method(
        "sequential_ols",
        fit_sequential_ols,
        "sequential OLS",
        COLOURS["green"],
        "v",
        (0, (7, 1.5, 1, 1.5, 1, 1.5)),
        ours=True,
    ),
    Method("consensus", fit_consensus, "consensus", COLOURS["red"], "P", (0, (2, 1)), ours=True),
)
METHODS = {m.name: m for m in _METHODS}
"""All methods by name, in the order in which they are shown."""

RECOMMENDED = "consensus"
"""The method that releases use where none is named."""

REASON = (
    "in every family of the benchmark and at each of the paper's levels its rows, columns and "
    "cells err less on average than those of each of its methods, and its sum as least squares does"
)
"""Why it is recommended, to follow "because"; the chapter on better methods shows it."""

CONTROL = "ols"
"""The method with which the others are compared: its errors are known exactly on every table."""


def microdata_methods(among: Iterable[str] | None = None) -> tuple[str, ...]:
    """Name the methods whose tables are nonnegative, in the order in which they are shown.

    Examples
    --------
    >>> microdata_methods(["reweighted", "nnls", "ols"])
    ('nnls', 'reweighted')
    """
    wanted = set(METHODS if among is None else among)
    return tuple(m.name for m in METHODS.values() if m.name in wanted and not m.signed)


def paper_methods() -> list[str]:
    """Name the paper's own methods, in the order in which they are shown."""
    return [m.name for m in METHODS.values() if not m.ours]


def check_methods(names: Iterable[str]) -> tuple[str, ...]:
    """Put names of methods into the order in which they are shown, each once.

    Examples
    --------
    >>> check_methods(["nnls", "ols", "nnls"])
    ('ols', 'nnls')
    """
    wanted = [find("method", str(name), METHODS).name for name in names]
    if not wanted:
        raise InputError(f"no method is named; known are: {', '.join(METHODS)}")
    return tuple(name for name in METHODS if name in wanted)


def fit(measurements: Measurements, method: str) -> Fit:
    """Fit a table to each run's noisy answers by one of the methods.

    Parameters
    ----------
    measurements
        Noisy answers, a batch of runs, in counts.
    method
        One of `METHODS`.

    Raises
    ------
    InputError
        A method that does not exist (the nearest names are suggested), or a workload that is too
        large for the machine's memory.
    CertificateError
        A run that could not be solved; the message names it.

    Examples
    --------
    >>> from microdata_price.model.noise import Laplace
    >>> from microdata_price.model.workload import Workload
    >>> m = Measurements(Workload.table(2), ([[9.0]], [[8.0, -4.0]]), (Laplace(8), Laplace(8)))
    >>> [fit(m, name).cells.round(2).ravel().tolist() for name in METHODS]
    [[9.67, -2.33], [8.5, 0.0], [8.5, 0.0], [9.0, 0.0], [8.0, 0.0], [7.33, 0.0], [6.87, 0.46]]
    """
    chosen = find("method", str(method), METHODS)
    check_memory(measurements.workload.query_sets, measurements.runs)
    with one_thread():
        return chosen.function(measurements)
