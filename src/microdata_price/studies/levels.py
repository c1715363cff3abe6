"""The levels of a chapter that speaks of all three kinds of privacy."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.privacy import ApproximateDP, ConcentratedDP, PureDP
from ..theory.given import check_queries


@dataclass(frozen=True)
class Levels:
    """What such a chapter is asked at; each thing is computed when it is asked for.

    Parameters
    ----------
    epsilon, rho, delta
        The levels.
    d
        Cells, 2 or more.

    Raises
    ------
    InputError
        A value out of range.

    Examples
    --------
    >>> Levels(0.5).zcdp, Levels(0.5).approximate
    (ConcentratedDP(rho=0.125), ApproximateDP(epsilon=0.5, delta=1e-06))
    """

    epsilon: float = 0.5
    rho: float = 0.125
    delta: float = 1e-6
    d: int = 1000

    def __post_init__(self) -> None:
        _ = self.approximate, self.zcdp, check_queries(self.d)

    @property
    def pure(self) -> PureDP:
        """Pure DP at the level."""
        return PureDP(self.epsilon)

    @property
    def approximate(self) -> ApproximateDP:
        """Approximate DP at the level."""
        return ApproximateDP(self.epsilon, self.delta)

    @property
    def zcdp(self) -> ConcentratedDP:
        """Concentrated DP at the level."""
        return ConcentratedDP(self.rho)

    @property
    def signed(self) -> float:
        """The root error of signed answers under pure DP, in counts."""
        return self.pure.signed_error
