"""From a frozen measurement to microdata and their report; nothing here sees a true table."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..exceptions import CertificateError
from ..fitting import METHODS, fit
from .measure import Measured
from .report import Progress, Report, make_report
from .rounding import Rounded, round_table

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Release:
    """Everything that a release publishes, computed from a frozen measurement.

    Parameters
    ----------
    measured
        The noisy answers and how they were made.
    method
        The method of fitting.
    weights
        The fitted table, shaped as the schema; negative cells only for OLS.
    certificate
        How far the fit is from its optimum, relative to its scale.
    rounded
        The table of whole records; ``None`` for OLS, which makes no microdata.
    report
        What errors are to be expected; ``None`` if it could not be made.
    """

    measured: Measured
    method: str
    weights: Array
    certificate: float
    rounded: Rounded | None
    report: Report | None


def finish(
    measured: Measured,
    method: str,
    draws: int | None = None,
    progress: Progress | None = None,
) -> Release:
    """Fit, round to whole records, and estimate errors, all from a frozen measurement.

    Parameters
    ----------
    measured
        The frozen measurement: all that is known of the true table.
    method
        One of `fitting.METHODS`; a signed one makes no microdata.
    draws
        How many imitated measurements the report takes, 0 for none; by default as the time that
        the fit took allows.
    progress
        Called while the report is made.

    Raises
    ------
    InputError
        An unknown method.
    CertificateError
        A fit or a rounding that misses. A report that fails is left out.
    """
    m = measured.measurements()
    start = time.monotonic()
    fitted = fit(m, method)
    seconds = time.monotonic() - start
    weights, rounded = fitted.tables[0], None
    if not METHODS[method].signed:
        # A solver's last digits may lie below zero; a record's weight may not.
        weights = np.maximum(weights, 0)
        total = measured.known_total
        if total is not None and weights.sum() > 0:
            weights = weights * (total / weights.sum())
        rounded = round_table(weights, measured.workload)
    try:
        report = make_report(
            measured,
            method,
            None if rounded is None else rounded.table,
            None if rounded is None else rounded.table - weights,
            seconds,
            draws,
            progress,
        )
    except (CertificateError, MemoryError, np.linalg.LinAlgError):
        report = None
    return Release(measured, method, weights, fitted.certificate.worst, rounded, report)
