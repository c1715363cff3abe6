"""One door to the five methods."""

from __future__ import annotations

from collections.abc import Callable

from ..exceptions import unknown_name
from ..model.measurement import Measurements
from .fit import Fit
from .max_fitting import fit_max
from .nnls import fit_nnls
from .ols import fit_ols
from .reweighted import fit_reweighted
from .sequential import fit_sequential

_FITTERS: dict[str, Callable[[Measurements], Fit]] = {
    "ols": fit_ols,
    "nnls": fit_nnls,
    "maxfit": fit_max,
    "sequential": fit_sequential,
    "reweighted": fit_reweighted,
}

METHODS = tuple(_FITTERS)
"""The names of the five methods."""


def fit(measurements: Measurements, method: str) -> Fit:
    """Fit a table to each run's noisy answers by one of the paper's methods.

    Parameters
    ----------
    measurements
        Noisy answers, a batch of runs, in counts.
    method
        One of `METHODS`.

    Returns
    -------
    Fit
        Tables, with a certificate for each run.

    Raises
    ------
    InputError
        A method that does not exist; the nearest names are suggested.
    CertificateError
        A run that could not be solved; the message names it.

    Examples
    --------
    >>> from microdata_price.model.noise import Laplace
    >>> from microdata_price.model.workload import Workload
    >>> m = Measurements(Workload.table(2), ([[9.0]], [[8.0, -4.0]]), (Laplace(8), Laplace(8)))
    >>> [fit(m, name).cells.sum().round(9).item() for name in METHODS]
    [7.333333333, 8.5, 8.5, 9.0, 8.0]
    """
    if method not in _FITTERS:
        raise unknown_name("method", str(method), METHODS)
    return _FITTERS[method](measurements)
