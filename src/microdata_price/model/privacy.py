"""What a privacy guarantee is: pure, approximate and concentrated differential privacy.

Two data sets are neighbours when one is the other with one record added or removed (the paper's
Definition 1). Everything here is about that relation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real

from ..exceptions import InputError

LEAST_LEVEL, LARGEST_LEVEL = 1e-30, 1e30
"""Between these epsilon and rho, no formula of this package overflows numbers of 64 bits."""
LEAST_DELTA = 1e-300


def _positive(value: object, name: str, example: str, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(
            f"{name} is {value!r}; it must be a positive number, for example {example}"
        )
    number = float(value)
    if not (math.isfinite(number) and number > 0):
        raise InputError(
            f"{name} is {number:g}; it must be a positive finite number, for example {example}"
        )
    if not least <= number <= most:
        bound = f"at least {least:g}" if number < least else f"at most {most:g}"
        raise InputError(
            f"{name} is {number:g}; it must be {bound}, as numbers of 64 bits hold no answer "
            f"beyond, for example {example}"
        )
    return number


def check_epsilon(value: object) -> float:
    """Return epsilon as a float, or say why it cannot be one.

    Examples
    --------
    >>> check_epsilon(1)
    1.0
    """
    return _positive(value, "epsilon", "0.5", LEAST_LEVEL, LARGEST_LEVEL)


def check_rho(value: object) -> float:
    """Return rho as a float, or say why it cannot be one.

    Examples
    --------
    >>> check_rho(0.125)
    0.125
    """
    return _positive(value, "rho", "0.125", LEAST_LEVEL, LARGEST_LEVEL)


def check_delta(value: object) -> float:
    """Return delta as a float in (0, 1), or say why it cannot be one.

    Examples
    --------
    >>> check_delta(1e-6)
    1e-06
    """
    number = _positive(value, "delta", "1e-6", LEAST_DELTA, math.inf)
    if number >= 1:
        raise InputError(
            f"delta is {number:g}; it must be between 0 and 1 (both excluded), for example 1e-6"
        )
    return number


@dataclass(frozen=True)
class PureDP:
    """Pure differential privacy with parameter ``epsilon`` (the paper's Definition 2, delta = 0).

    Examples
    --------
    >>> PureDP(0.5).scaled(2)
    PureDP(epsilon=1.0)
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))

    def scaled(self, share: float) -> PureDP:
        """Return the guarantee with ``share`` times this budget."""
        return PureDP(self.epsilon * share)

    def group(self, size: int) -> PureDP:
        """Return what is guaranteed between data sets ``size`` records apart.

        Examples
        --------
        >>> PureDP(0.5).group(4)
        PureDP(epsilon=2.0)
        """
        return PureDP(self.epsilon * _group_size(size))

    def to_zcdp(self) -> ConcentratedDP:
        """Return the zCDP guarantee that every such mechanism has, ``epsilon**2 / 2``.

        Examples
        --------
        >>> PureDP(1.0).to_zcdp()
        ConcentratedDP(rho=0.5)
        """
        return ConcentratedDP(self.epsilon**2 / 2)


@dataclass(frozen=True)
class ApproximateDP:
    """Approximate differential privacy (the paper's Definition 2 with delta > 0).

    Examples
    --------
    >>> ApproximateDP(0.5, 1e-6)
    ApproximateDP(epsilon=0.5, delta=1e-06)
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "delta", check_delta(self.delta))

    def group_delta(self, size: int) -> float:
        """Return the delta between data sets ``size`` records apart (ours; the paper bounds it).

        It is ``delta (exp(size epsilon) - 1) / (exp(epsilon) - 1)``, paired with the epsilon
        ``size * epsilon``; above one, it guarantees nothing.

        Examples
        --------
        >>> ApproximateDP(1.0, 1e-6).group_delta(1)
        1e-06
        """
        size = _group_size(size)
        try:
            return self.delta * math.expm1(size * self.epsilon) / math.expm1(self.epsilon)
        except OverflowError:
            return math.inf


@dataclass(frozen=True)
class ConcentratedDP:
    """Zero-concentrated differential privacy with parameter ``rho`` (the paper's Definition 3).

    Examples
    --------
    >>> ConcentratedDP(0.125).scaled(2)
    ConcentratedDP(rho=0.25)
    """

    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", check_rho(self.rho))

    def scaled(self, share: float) -> ConcentratedDP:
        """Return the guarantee with ``share`` times this budget."""
        return ConcentratedDP(self.rho * share)

    def group(self, size: int) -> ConcentratedDP:
        """Return what is guaranteed between data sets ``size`` records apart.

        Examples
        --------
        >>> ConcentratedDP(0.125).group(2)
        ConcentratedDP(rho=0.5)
        """
        return ConcentratedDP(self.rho * _group_size(size) ** 2)

    def to_approximate(self, delta: float) -> ApproximateDP:
        """Return an (epsilon, delta) guarantee that follows: ``rho + 2 sqrt(rho ln(1/delta))``.

        Examples
        --------
        >>> round(ConcentratedDP(0.125).to_approximate(1e-6).epsilon, 4)
        2.7533
        """
        delta = check_delta(delta)
        return ApproximateDP(self.rho + 2 * math.sqrt(self.rho * -math.log(delta)), delta)


Guarantee = PureDP | ApproximateDP | ConcentratedDP
"""Any of the three guarantees."""


def _group_size(size: object) -> int:
    if isinstance(size, bool) or not isinstance(size, Integral) or int(size) < 1:
        raise InputError(f"the group size is {size!r}; it must be a whole number of 1 or more")
    return int(size)


def compose(*guarantees: PureDP | ConcentratedDP) -> PureDP | ConcentratedDP:
    """Add up guarantees of one kind (sequential composition, the paper's Section 2.2).

    Raises
    ------
    InputError
        Without a guarantee, or with two kinds.

    Examples
    --------
    >>> compose(PureDP(0.5), PureDP(0.25))
    PureDP(epsilon=0.75)
    """
    if guarantees:
        if all(isinstance(g, PureDP) for g in guarantees):
            return PureDP(math.fsum(g.epsilon for g in guarantees if isinstance(g, PureDP)))
        if all(isinstance(g, ConcentratedDP) for g in guarantees):
            return ConcentratedDP(
                math.fsum(g.rho for g in guarantees if isinstance(g, ConcentratedDP))
            )
    kinds = sorted({type(g).__name__ for g in guarantees}) or ["none"]
    raise InputError(
        f"the guarantees to add are {', '.join(kinds)}; they must be one or more of one kind, "
        "PureDP or ConcentratedDP (turn epsilon into rho with to_zcdp first)"
    )
