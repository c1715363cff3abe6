"""What a method does to noisy answers, taken apart: the chapters on the algorithms show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize

from ..base.numbers import Mean
from ..errors.estimates import answer_errors
from ..errors.known import known_errors
from ..exceptions import InputError
from ..fitting import CONTROL, Fit
from ..model.noise import Gaussian, Laplace
from ..theory.upper.exact_errors import clipped
from .cases import Case

Array = NDArray[np.float64]


def set_errors(case: Case, fits: Sequence[Fit]) -> pd.DataFrame:
    """Estimate each method's total expected squared error of each query set, beside OLS's.

    Parameters
    ----------
    case
        The table and its measurements.
    fits
        Fits to these measurements (or to the same in another order of query sets).

    Returns
    -------
    DataFrame
        One row a fit and query set: ``method``, ``query set``, ``queries``, ``error`` and its
        ``standard error`` in squared counts, ``exact`` (NaN where not known), ``ratio`` to OLS's
        exact error with ``ratio error``, and the mean ``bias`` of the set's sum with ``bias
        error``, in counts.

    Examples
    --------
    >>> from microdata_price.studies.cases import bench_case
    >>> from microdata_price.fitting import fit_ols
    >>> from microdata_price.model.privacy import PureDP
    >>> case = bench_case("Level00-1d", PureDP(0.5), runs=20, seed=1)[1]
    >>> set_errors(case, [fit_ols(case.measurements)])["exact"].round(3).tolist()
    [31.683, 3168.317]
    """
    workload, noise = case.workload, case.measurements.noise
    truth = workload.answers(case.table)
    ols = [float(e.sum()) for e in known_errors(CONTROL, workload, noise, truth)]
    rows = []
    for f in fits:
        known = known_errors(f.method, workload, noise, truth)
        errors = answer_errors(f.cells, case.table, workload)
        for q, e, k, base in zip(workload.query_sets, errors, known, ols, strict=True):
            total, bias = Mean.of((e * e).sum(axis=1)), Mean.of(e.sum(axis=1))
            rows.append(
                {
                    "method": f.method,
                    "query set": q.name,
                    "queries": q.size,
                    "error": total.value,
                    "standard error": total.error,
                    "exact": float(k.sum()),
                    "ratio": total.value / base,
                    "ratio error": total.error / base,
                    "bias": bias.value,
                    "bias error": bias.error,
                }
            )
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Balance:
    """Where a fitted sum differs from the true one, in counts; the four parts add up to the error.

    Parameters
    ----------
    clipped_empty, clipped_full
        What clipping the noisy cells at zero adds: in cells without a record, and in the others.
    taken_empty, taken_full
        What the fit then does to the clipped cells: below 0 where it takes records away.
    total
        The fitted sum minus the true one.
    exact_empty, exact_full
        The exact expected values of the first two.
    """

    clipped_empty: Mean
    clipped_full: Mean
    taken_empty: Mean
    taken_full: Mean
    total: Mean
    exact_empty: float
    exact_full: float


def balance(case: Case, cells: Array) -> Balance:
    """Follow the records: what clipping at zero adds to the sum, and what a fit takes off again.

    Parameters
    ----------
    case
        The table and its measurements.
    cells
        Fitted cells, shape (runs, cells), in counts.

    Examples
    --------
    >>> from microdata_price.studies.cases import short_case
    >>> from microdata_price.model.privacy import PureDP
    >>> case = short_case(PureDP(0.5), seed=1)
    >>> b = balance(case, np.maximum(case.noisy_cells, 0))
    >>> b.taken_empty.value, b.exact_empty
    (0.0, 10.0)
    """
    empty, truth = case.empty, case.truth
    lifted = np.maximum(case.noisy_cells, 0.0)
    added, taken = lifted - truth, cells - lifted
    expected = clipped(case.noise, truth).bias
    return Balance(
        Mean.of(added[:, empty].sum(axis=1)),
        Mean.of(added[:, ~empty].sum(axis=1)),
        Mean.of(taken[:, empty].sum(axis=1)),
        Mean.of(taken[:, ~empty].sum(axis=1)),
        Mean.of((cells - truth).sum(axis=1)),
        float(expected[empty].sum()),
        float(expected[~empty].sum()),
    )


def pulls(case: Case, f: Fit) -> tuple[Array, ...]:
    """Return what each aggregate query takes off the cells that it counts, in counts.

    A fit by weighted nonnegative least squares is ``x = (a - sum of pulls)+``, where the pull of a
    query on its cells is how far its fitted answer lies above the noisy one, times its weight over
    the cells' (the optimality conditions of the paper's NNLS).

    Parameters
    ----------
    case
        The table and its measurements.
    f
        A fit by NNLS or OLS.

    Returns
    -------
    tuple of ndarray
        One array of shape (runs, cells) for each query set but the cells.

    Examples
    --------
    >>> from microdata_price.studies.cases import short_case
    >>> from microdata_price.fitting import fit_nnls
    >>> from microdata_price.model.privacy import PureDP
    >>> case = short_case(PureDP(0.5), seed=1)
    >>> f = fit_nnls(case.measurements)
    >>> taken = sum(pulls(case, f))
    >>> bool(np.allclose(f.cells, np.maximum(case.noisy_cells - taken, 0)))
    True
    """
    m = case.measurements
    unit = m.variances[-1]
    sets = zip(m.workload.query_sets, f.answers(), m.answers, m.variances, strict=True)
    return tuple(q.spread(x - a) * (unit / v) for q, x, a, v in list(sets)[:-1])


def balanced_threshold(noise: Laplace | Gaussian, empty: int, full: int) -> float:
    """Predict NNLS's threshold on a list, and so the bias of its sum, in counts (ours).

    On a list NNLS takes a threshold g off every cell and clips at zero, and g is how far the fitted
    sum lies above the noisy one. On average the empty cells then keep ``empty E (z - g)+`` records
    and the large ones lose ``full g``; what remains must be g itself: ``empty E (z - g)+ = (full +
    1) g``. Fluctuations are neglected, and cells of middle size.

    Parameters
    ----------
    noise
        On every answer.
    empty, full
        How many cells hold no record, and how many hold far more than the noise.

    Raises
    ------
    InputError
        Fewer than no cells.

    Examples
    --------
    >>> round(balanced_threshold(Laplace(4.0), 99, 1), 2)
    9.41
    """
    if min(empty, full) < 0:
        raise InputError(f"there are {empty} empty and {full} full cells; both must be 0 or more")
    if empty == 0:
        return 0.0
    top = empty * float(noise.excess(0.0).first) / (full + 1)
    return float(
        optimize.brentq(lambda g: empty * float(noise.excess(g).first) - (full + 1) * g, 0.0, top)
    )


def certificates(fits: Sequence[Fit]) -> pd.DataFrame:
    """Return the worst certificate of each fit's runs, its three numbers apart.

    Examples
    --------
    >>> from microdata_price.studies.cases import short_case
    >>> from microdata_price.fitting import fit_nnls
    >>> from microdata_price.model.privacy import PureDP
    >>> m = short_case(PureDP(0.5), seed=1).measurements
    >>> bool(certificates([fit_nnls(m)])["gap"][0] < 1e-9)
    True
    """
    return pd.DataFrame(
        {
            "method": f.method,
            "primal": float(f.certificate.primal.max()),
            "dual": float(f.certificate.dual.max()),
            "gap": float(f.certificate.gap.max()),
        }
        for f in fits
    )


def worst_cells(case: Case, f: Fit, count: int = 5) -> pd.DataFrame:
    """Return the cells with the largest mean squared error.

    Parameters
    ----------
    case
        The table and its measurements.
    f
        Fits to these measurements.
    count
        How many cells.

    Returns
    -------
    DataFrame
        ``truth``, ``bias`` with its ``bias error``, both in counts, ``error`` and its ``standard
        error`` in squared counts, and the share of runs in which the cell is ``zero``; worst first.

    Examples
    --------
    >>> from microdata_price.studies.cases import short_case
    >>> from microdata_price.fitting import fit_nnls
    >>> from microdata_price.model.privacy import PureDP
    >>> case = short_case(PureDP(0.5), seed=1)
    >>> len(worst_cells(case, fit_nnls(case.measurements), 3))
    3
    """
    errors = f.cells - case.truth
    worst = np.argsort(-(errors**2).mean(axis=0), kind="stable")[:count]
    rows = []
    for i in worst:
        bias, error = Mean.of(errors[:, i]), Mean.of(errors[:, i] ** 2)
        rows.append(
            {
                "truth": case.truth[i],
                "bias": bias.value,
                "bias error": bias.error,
                "error": error.value,
                "standard error": error.error,
                "zero": float((f.cells[:, i] == 0).mean()),
            }
        )
    return pd.DataFrame(rows)
