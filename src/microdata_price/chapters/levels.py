"""Levels of privacy and a number of cells: the base of chapters on bounds and mechanisms."""

from dataclasses import dataclass

from ..model.privacy import ApproximateDP, ConcentratedDP, PureDP
from ..theory.given import check_queries


@dataclass
class Levels:
    """Epsilon, rho, delta and d of one notebook; chapters add cached properties."""

    epsilon: float = 0.5
    rho: float = 0.125
    delta: float = 1e-6
    d: int = 1000

    def __post_init__(self):
        self.pure = PureDP(self.epsilon)
        self.approximate = ApproximateDP(self.epsilon, self.delta)
        self.zcdp = ConcentratedDP(self.rho)
        self.signed = (
            self.pure.signed_error
        )  # root error of signed answers under pure DP, in counts
        check_queries(self.d)
