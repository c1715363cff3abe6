"""Sequential fitting of the least-squares answers in place of the raw ones."""

from __future__ import annotations

from ..model.measurement import Measurements
from .fit import Fit, finish
from .ols import fit_ols
from .sequential import fit_sequential


def fit_sequential_ols(m: Measurements) -> Fit:
    """Fit by sequential fitting of the least-squares answers.

    Ordinary least squares uses every answer to sharpen every other, but its cells may be negative.
    Sequential fitting makes them nonnegative, but looks at each query set once. The sum, if it
    is asked first, is published as ``max(0, least-squares sum)``, so its expected squared error is
    at most that of least squares. On lists with one noise throughout the cells are the projection
    of the least-squares cells on the tables with that sum.

    The certificate is the worse of the two stages': least squares, and every stage of Algorithm 1.
    """
    signed = fit_ols(m)
    # One noise weighs the answers of a query set alike, so its size plays no part.
    fitted = fit_sequential(Measurements(m.workload, signed.answers(), m.noise))
    certificate = fitted.certificate.combine(signed.certificate)
    return finish("sequential_ols", m, fitted.cells, certificate)
