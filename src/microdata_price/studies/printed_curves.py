"""The curves of Theorem 3 as printed, and signed answers and clipping among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..model.noise_discrete import DiscreteGaussian, DoubleGeometric
from ..model.privacy import ConcentratedDP, PureDP
from ..theory.lower.lower_bounds import point_error_bound
from ..theory.upper.exact_errors import worst_clipped_sum

Array = NDArray[np.float64]


def clipped_sum_error(noise: DoubleGeometric | DiscreteGaussian, d: float) -> float:
    """Return the worst root error of the sum of clipped noisy cells, in counts."""
    return math.sqrt(float(worst_clipped_sum(noise, d).squared_error))


@dataclass(frozen=True, eq=False)
class PrintedCurves:
    """The theorem's curves of C against D, and signed answers among them.

    Parameters
    ----------
    guarantee
        The level.
    noise
        The noise of the clipping mechanism.
    ds
        Numbers of cells, increasing.
    sum_errors
        The D of the curves, in counts.
    bounds
        The least C that is not excluded, in counts, one curve a number of cells.
    at_signed
        The same at a sum as accurate as a signed answer.
    own
        The D of the clipping mechanism at each number of cells; its C is the noise's.
    """

    guarantee: PureDP | ConcentratedDP
    noise: DoubleGeometric | DiscreteGaussian
    ds: tuple[int, ...]
    sum_errors: Array
    bounds: tuple[Array, ...]
    at_signed: Array
    own: tuple[float, ...]

    @classmethod
    def at(
        cls,
        guarantee: PureDP | ConcentratedDP,
        noise: DoubleGeometric | DiscreteGaussian,
        ds: Sequence[int],
    ) -> Self:
        """Return the curves at some numbers of cells."""
        sizes, signed = tuple(sorted(set(ds))), guarantee.signed_error
        own = tuple(clipped_sum_error(noise, d) for d in sizes)
        sum_errors = np.geomspace(0.2 * signed, 3 * max(own[-1], signed), 160)
        bounds = tuple(point_error_bound("printed", guarantee, d, sum_errors) for d in sizes)
        at_signed = np.atleast_1d(point_error_bound("printed", guarantee, np.array(sizes), signed))
        return cls(guarantee, noise, sizes, sum_errors, bounds, at_signed, own)

    @property
    def signed(self) -> float:
        """The root error of signed answers, in counts."""
        return self.guarantee.signed_error

    @property
    def points(self) -> list[tuple[str, float, float]]:
        """The clipping mechanism at each number of cells: no name, D, C."""
        return [("", D, self.noise.std) for D in self.own]

    @property
    def star(self) -> tuple[float, float]:
        """D and C of signed answers."""
        return self.signed, self.signed

    @property
    def above(self) -> list[int]:
        """The numbers of cells at which the theorem excludes signed answers."""
        return [n for n, c in zip(self.ds, self.at_signed, strict=True) if c > self.signed]
