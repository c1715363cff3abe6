"""Levels of privacy and a number of cells: the base of chapters on bounds and mechanisms."""

from dataclasses import dataclass

from ..base.numbers import check_whole
from ..model.privacy import ApproximateDP, ConcentratedDP, PureDP


@dataclass
class Levels:
    """Epsilon, rho, delta and d of one notebook; chapters add cached properties."""

    epsilon: float = 0.5
    rho: float = 0.125
    delta: float = 1e-6
    d: int = 1000
    most = 4_000_000  # cells; more where a chapter lists no table

    def __post_init__(self):
        self.pure = PureDP(self.epsilon)
        self.approximate = ApproximateDP(self.epsilon, self.delta)
        self.zcdp = ConcentratedDP(self.rho)
        self.signed = self.pure.signed_error  # root error under pure DP, in counts
        check_whole(self.d, "d", 2, self.most, hint=": every cell is listed")
