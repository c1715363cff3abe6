"""From a frozen measurement to microdata and expected errors; nothing here sees a true table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors.estimates import total_errors
from ..errors.known import ols_variances
from ..errors.sums import answer_errors, sum_errors
from ..fitting import METHODS, fit
from ..model.measurement import Measurements
from ..model.workload import Workload
from .measure import Measured, split_answers
from .rounding import Rounded, round_table

Array = NDArray[np.float64]

MOST_DRAWS = 200
"""Imitated measurements from which expected errors are estimated."""
FEWEST_DRAWS = 10
_DRAWN_ANSWERS = 200_000


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
    expected
        Expected errors, one row a query set (see `expected_errors`).
    """

    measured: Measured
    method: str
    weights: Array
    certificate: float
    rounded: Rounded | None
    expected: pd.DataFrame


def draws_for(workload: Workload) -> int:
    """Return how many imitated measurements are affordable: 10 to 200.

    Examples
    --------
    >>> draws_for(Workload.table((9, 24))), draws_for(Workload.table((300, 300)))
    (200, 10)
    """
    answers = sum(q.size for q in workload.query_sets)
    return max(FEWEST_DRAWS, min(MOST_DRAWS, _DRAWN_ANSWERS // answers))


def _imitated(measured: Measured, table: NDArray[np.int64], draws: int) -> Measurements:
    """Measure a published table with the release's own mechanism, several times."""
    workload, mechanism = measured.workload, measured.mechanism
    answers = np.concatenate(workload.answers(table)).astype(np.int64)
    runs = [split_answers(workload, mechanism.noisy(answers)) for _ in range(draws)]
    stacked = tuple(np.stack(part).astype(float) for part in zip(*runs, strict=True))
    return Measurements(workload, stacked, (mechanism.noise,) * len(stacked))


def expected_errors(
    measured: Measured, method: str, table: NDArray[np.int64] | None, draws: int
) -> pd.DataFrame:
    """Estimate each query set's expected error from the measurements alone (ours).

    The error of the noisy answers and that of OLS are exact and the same for every table. The
    method's error depends on the table, so it is estimated as if the published table were the true
    one: that table is measured anew by the same mechanism, and each imitated measurement is fitted.

    Parameters
    ----------
    measured
        The frozen measurement.
    method
        The method of fitting.
    table
        The published table of whole records; ``None`` for OLS, whose error needs no estimate.
    draws
        How many imitated measurements.

    Returns
    -------
    DataFrame
        One row a query set: ``query_set``, ``queries``, and root mean squared errors of one query
        in counts: ``noisy_answers``, ``ols``, ``fitted`` and the latter's ``standard_error``.
    """
    workload = measured.workload
    exact = ols_variances(workload, [measured.mechanism.noise.variance] * len(measured.answers))
    totals = np.array([v.sum() for v in exact])
    sizes = np.array([q.size for q in workload.query_sets])
    value, error = totals, np.zeros_like(totals)
    if table is not None:
        imitated = _imitated(measured, table, draws)
        sums = sum_errors(answer_errors(fit(imitated, method).cells, table, workload))
        estimate = total_errors(sums, sums, totals)[0]
        value, error = estimate.value, estimate.error
    root = np.sqrt(value / sizes)
    with np.errstate(invalid="ignore", divide="ignore"):
        # The root's standard error, to first order.
        spread = np.where(value > 0, error / (2 * np.sqrt(value * sizes)), 0.0)
    return pd.DataFrame(
        {
            "query_set": list(workload.names),
            "queries": sizes,
            "noisy_answers": measured.mechanism.noise.std,
            "ols": np.sqrt(totals / sizes),
            "fitted": root,
            "standard_error": spread,
        }
    )


def finish(measured: Measured, method: str, draws: int | None = None) -> Release:
    """Fit, round to whole records, and estimate errors, all from a frozen measurement.

    Parameters
    ----------
    measured
        The frozen measurement: all that is known of the true table.
    method
        One of `fitting.METHODS`; a signed one makes no microdata.
    draws
        How many imitated measurements the expected errors take; by default as the size allows.

    Raises
    ------
    InputError
        An unknown method.
    CertificateError
        A fit or a rounding that misses.
    """
    fitted = fit(measured.measurements(), method)
    weights, rounded = fitted.tables[0], None
    if not METHODS[method].signed:
        # A solver's last digits may lie below zero; a record's weight may not.
        weights = np.maximum(weights, 0)
        rounded = round_table(weights, measured.workload)
    expected = expected_errors(
        measured,
        method,
        None if rounded is None else rounded.table,
        draws_for(measured.workload) if draws is None else draws,
    )
    return Release(measured, method, weights, fitted.certificate.worst, rounded, expected)
