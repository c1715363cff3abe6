"""The law of ``S(g) = sum_i (z_i - g)+`` over n noises, smoothed by one more noise."""

from __future__ import annotations

from ...exceptions import InputError
from ...model.noise import Gaussian, Laplace
from .excess_gaussian import GaussianExcess
from .excess_laplace import LaplaceExcess


def excess_sum(
    cell_noise: Laplace | Gaussian, other: Laplace | Gaussian, n: float
) -> LaplaceExcess | GaussianExcess:
    """Return the law of n excesses of one noise, smoothed by one draw of another of its kind."""
    if isinstance(cell_noise, Laplace) and isinstance(other, Laplace):
        return LaplaceExcess(cell_noise.scale, other.scale, n)
    if isinstance(cell_noise, Gaussian) and isinstance(other, Gaussian):
        return GaussianExcess(cell_noise.std, other.std, n)
    raise InputError(
        f"the noises are {cell_noise!r} and {other!r}; both must be Laplace or both Gaussian"
    )
