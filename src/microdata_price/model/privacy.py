"""Privacy guarantees: pure, approximate and concentrated differential privacy.

Two data sets are neighbours when one is the other with one record added or removed (the paper's
Definition 1). Everything here is about that relation.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from numbers import Real
from reprlib import repr as shown
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..base.numbers import check_whole, in_math, not_below
from ..exceptions import InputError, T, find
from .noise import Gaussian, Laplace

Array = NDArray[np.float64]

LEAST_LEVEL, LARGEST_LEVEL = 1e-30, 1e30
"""Between these epsilon and rho, no formula of this package overflows numbers of 64 bits."""
LEAST_DELTA = 1e-300


def _positive(value: object, name: str, example: str, least: float, most: float) -> float:
    number, given = math.nan, shown(value)
    if isinstance(value, Real) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # of a whole number beyond all doubles
            given = f"{(number := float(value)):g}"
    if not 0 < number < math.inf:
        wanted = f"a positive finite number, for example {example}"
        raise InputError(f"{name} is {given}; it must be {wanted}")
    if not least <= number <= most:
        bound = f"at least {least:g}" if number < least else f"at most {most:g}"
        why = f"as numbers of 64 bits hold no answer beyond, for example {example}"
        raise InputError(f"{name} is {number:g}; it must be {bound}, {why}")
    return number


def check_epsilon(value: object, name: str = "epsilon", least: float = LEAST_LEVEL) -> float:
    """Return epsilon as a float, or say why it cannot be one."""
    return _positive(value, name, "0.5", least, LARGEST_LEVEL)


def check_rho(value: object, name: str = "rho") -> float:
    """Return rho as a float, or say why it cannot be one."""
    return _positive(value, name, "0.125", LEAST_LEVEL, LARGEST_LEVEL)


def check_delta(value: object) -> float:
    """Return delta as a float in (0, 1), or say why it cannot be one."""
    number = _positive(value, "delta", "1e-6", LEAST_DELTA, math.inf)
    if number >= 1:
        wanted = "between 0 and 1 (both excluded), for example 1e-6"
        raise InputError(f"delta is {number:g}; it must be {wanted}")
    return number


def least_double(exact: Fraction) -> float:
    """Return the least double that is not below a number."""
    near = float(exact)
    return near if near >= exact else math.nextafter(near, math.inf)


def _group_size(size: object) -> int:
    return check_whole(size, "the group size", most=10**18)


class _Level:
    """Description common to all guarantees, so that nothing else asks of which kind one is."""

    kind: ClassVar[str]  # its name in commands and files,
    name: ClassVar[str]  # in sentences,
    short: ClassVar[str]  # and in pictures
    parameter: ClassVar[str]  # its main parameter, as an option and in TeX,
    symbol: ClassVar[str]  # and as a letter
    norm: ClassVar[int]  # in which its noise counts changes; errors go as ``level**(-1/norm)``

    @property
    def level(self) -> float:
        """The value of epsilon or rho."""
        return float(getattr(self, self.parameter))

    @property
    def plain(self) -> str:
        """The level in plain letters, for pictures."""
        return f"{self.symbol} = {self.level:g}"

    @property
    def math(self) -> str:
        """The level in mathematics, for pages."""
        return rf"$\{self.parameter} = {in_math(self.level)}$"

    def describe(self, *, math: bool = False) -> str:
        """Return the guarantee in words, its level in plain letters or in mathematics."""
        return f"{self.name} with {self.math if math else self._levels()}"

    def _levels(self) -> str:
        return f"{self.parameter} = {not_below(self.level)}"

    def fields(self) -> dict[str, str | float]:
        """Return the guarantee as fields of a document."""
        return {"kind": self.kind, **asdict(self)}  # type: ignore[call-overload]


class _EpsilonLevel(_Level):
    """Parameter epsilon of pure and approximate privacy: signed answers use no delta."""

    parameter: ClassVar[str] = "epsilon"
    symbol: ClassVar[str] = "ε"
    norm: ClassVar[int] = 1

    epsilon: float

    @property
    def signed_error(self) -> float:
        """The root error of every signed answer, ``sqrt(8)/eps`` counts (the paper's Theorem 1)."""
        return math.sqrt(8) / self.epsilon

    @property
    def basis(self) -> PureDP:
        """Guarantee that mechanisms without a delta satisfy to give this one."""
        return PureDP(self.epsilon)

    def records(self, nats: Array) -> Array:
        """Return how many records apart tables are that are told apart by so many nats."""
        return nats / self.epsilon


@dataclass(frozen=True)
class PureDP(_EpsilonLevel):
    """Pure differential privacy with parameter ``epsilon`` (the paper's Definition 2, delta = 0).

    Examples
    --------
    >>> PureDP(0.5).noise(4), PureDP(0.5).group(4), PureDP(0.5).to_zcdp()
    (Laplace(scale=8.0), PureDP(epsilon=2.0), ConcentratedDP(rho=0.125))
    """

    kind: ClassVar[str] = "pure"
    name: ClassVar[str] = "pure differential privacy"
    short: ClassVar[str] = "pure DP"
    delta: ClassVar[float] = 0.0

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))

    def scaled(self, share: float) -> PureDP:
        """Return the guarantee with ``share`` times this budget."""
        return PureDP(check_epsilon(self.epsilon * share, f"{share:g} of {self._levels()}"))

    def noise(self, sensitivity: float = 1.0) -> Laplace:
        """Return the noise for queries of this L1 sensitivity (the paper's Theorem 1)."""
        return Laplace(sensitivity / self.epsilon)

    def group(self, size: int) -> PureDP:
        """Return what is guaranteed between data sets ``size`` records apart."""
        return PureDP(self.epsilon * _group_size(size))

    def to_zcdp(self) -> ConcentratedDP:
        """Return the zCDP guarantee that every such mechanism has, ``epsilon**2 / 2``."""
        return ConcentratedDP(least_double(Fraction(self.epsilon) ** 2 / 2))


@dataclass(frozen=True)
class ApproximateDP(_EpsilonLevel):
    """Approximate differential privacy (the paper's Definition 2 with delta > 0).

    Examples
    --------
    >>> ApproximateDP(0.5, 1e-6).plain, ApproximateDP(1.0, 1e-6).group_delta(1)
    ('ε = 0.5, δ = 1e-06', 1e-06)
    """

    kind: ClassVar[str] = "approximate"
    name: ClassVar[str] = "approximate differential privacy"
    short: ClassVar[str] = "approximate DP"

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "delta", check_delta(self.delta))

    @property
    def plain(self) -> str:
        """Both levels in plain letters, for pictures."""
        return f"{super().plain}, δ = {self.delta:g}"

    @property
    def math(self) -> str:
        """Both levels in mathematics, for pages."""
        return rf"{super().math}, $\delta = {in_math(self.delta)}$"

    def _levels(self) -> str:
        return f"{super()._levels()} and delta = {self.delta:.12g}"

    def group_delta(self, size: int) -> float:
        """Return the delta between data sets ``size`` records apart (the paper bounds it).

        It is ``delta (exp(size epsilon) - 1) / (exp(epsilon) - 1)``, paired with the epsilon
        ``size * epsilon``; above one, it guarantees nothing.
        """
        size = _group_size(size)
        try:
            return self.delta * math.expm1(size * self.epsilon) / math.expm1(self.epsilon)
        except OverflowError:
            return math.inf


@dataclass(frozen=True)
class ConcentratedDP(_Level):
    """Zero-concentrated differential privacy with parameter ``rho`` (the paper's Definition 3).

    Examples
    --------
    >>> ConcentratedDP(0.125).noise(), ConcentratedDP(0.125).group(2)
    (Gaussian(std=2.0), ConcentratedDP(rho=0.5))
    >>> round(ConcentratedDP(0.125).to_approximate(1e-6).epsilon, 4)
    2.7533
    """

    kind: ClassVar[str] = "zcdp"
    name: ClassVar[str] = "zero-concentrated differential privacy"
    short: ClassVar[str] = "zCDP"
    parameter: ClassVar[str] = "rho"
    symbol: ClassVar[str] = "ρ"
    norm: ClassVar[int] = 2
    delta: ClassVar[float] = 0.0

    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", check_rho(self.rho))

    def scaled(self, share: float) -> ConcentratedDP:
        """Return the guarantee with ``share`` times this budget."""
        return ConcentratedDP(check_rho(self.rho * share, f"{share:g} of {self._levels()}"))

    def noise(self, sensitivity: float = 1.0) -> Gaussian:
        """Return the noise for queries of this L2 sensitivity (the paper's Theorem 2)."""
        if sensitivity == 1:  # variance first: 1/(2 rho) is exact where its root squared is not
            return Gaussian(math.sqrt(1 / (2 * self.rho)))
        return Gaussian(sensitivity / math.sqrt(2 * self.rho))

    def group(self, size: int) -> ConcentratedDP:
        """Return what is guaranteed between data sets ``size`` records apart."""
        return ConcentratedDP(self.rho * _group_size(size) ** 2)

    @property
    def signed_error(self) -> float:
        """The root error of every signed answer, ``1/sqrt(rho)`` counts (the paper's Theorem 2)."""
        return 1 / math.sqrt(self.rho)

    @property
    def basis(self) -> ConcentratedDP:
        """Guarantee that mechanisms without a delta satisfy to give this one: itself."""
        return self

    def records(self, nats: Array) -> Array:
        """Return how many records apart tables are that are told apart by so many nats."""
        return np.asarray(np.sqrt(nats / self.rho))

    def to_approximate(self, delta: float) -> ApproximateDP:
        """Return an (epsilon, delta) guarantee that follows: ``rho + 2 sqrt(rho ln(1/delta))``."""
        delta = check_delta(delta)
        return ApproximateDP(self.rho + 2 * math.sqrt(self.rho * -math.log(delta)), delta)


Guarantee = PureDP | ApproximateDP | ConcentratedDP
"""Any of the three guarantees."""


def check_guarantee(given: T, *kinds: type[Guarantee]) -> T:
    """Return a guarantee of one of some kinds, by default of any, or say why it is none."""
    wanted = kinds or tuple(KINDS.values())
    if isinstance(given, wanted):
        return given
    named = " or ".join(f"{kind.__name__} ({kind.name})" for kind in wanted)
    raise InputError(f"the guarantee must be {named}; given is {given!r}")


KINDS: dict[str, type[Guarantee]] = {g.kind: g for g in (PureDP, ApproximateDP, ConcentratedDP)}
"""The guarantees by kind."""


def parameters(kind: str) -> tuple[str, ...]:
    """Name the parameters of a kind of privacy."""
    return tuple(f.name for f in fields(find("kind of privacy", str(kind), KINDS)))


def guarantee_of(kind: str, **levels: float) -> Guarantee:
    """Return the guarantee of a kind, with those of some levels that it reads."""
    needed = parameters(kind)
    if lost := " and ".join(name for name in needed if name not in levels):
        raise InputError(f"{KINDS[kind].name} needs {' and '.join(needed)}; give {lost}, too")
    return KINDS[kind](**{name: levels[name] for name in needed})


def level_of(kind: str, level: float) -> PureDP | ConcentratedDP:
    """Return the guarantee that a grid's columns ``privacy`` and ``level`` name."""
    known: dict[str, type[PureDP | ConcentratedDP]] = {g.kind: g for g in (PureDP, ConcentratedDP)}
    return find("kind of privacy", str(kind), known)(level)
