"""Numbers and lists as text for sentences, and a mean with its standard error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from numbers import Integral
from reprlib import repr as shown

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InputError

Array = NDArray[np.float64]

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def format_number(value: float, digits: int = 3, *, se: float | None = None) -> str:
    """Write a number for a sentence: significant digits, a real minus sign, grouped thousands.

    Whole numbers below a million are written in full. With ``se``, the standard error of a Monte
    Carlo value, that has two digits, and the value the same decimal places.

    Examples
    --------
    >>> format_number(1234.5678), format_number(-0.04567, 2), format_number(2.5e-7)
    ('1,230', '−0.046', '2.5 × 10⁻⁷')
    >>> format_number(105.7851, se=0.4321)
    '105.79 ± 0.43'
    >>> format_number(60000), format_number(0.03), format_number(1e6)
    ('60,000', '0.03', '10⁶')
    """
    number = float(value)
    if not math.isfinite(number):
        raise InputError(f"the number to write is {value!r}; it must be finite")
    if se is not None:
        error = float(se)
        if not (math.isfinite(error) and error >= 0):
            raise InputError(f"the standard error to write is {se!r}; it must be 0 or more")
        if error > 1e-12 * abs(number):  # else it is that of rounding
            places = 1 - math.floor(math.log10(error))
            return f"{_fixed(number, places)} ± {_fixed(error, places)}"
        return f"{format_number(number, digits)} ± 0"
    if number == 0:
        return "0"
    if number == int(number) and abs(number) < 1e6:
        return _fixed(number, 0)
    # A value that is short already, such as the level 0.5, gets no zeros at its end.
    digits = min(digits, len(Decimal(repr(number)).normalize().as_tuple().digits))
    mantissa, _, power = f"{number:.{digits - 1}e}".partition("e")
    exponent = int(power)
    if not -4 <= exponent < 6:
        short = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        ten = f"10{str(exponent).translate(_SUPERSCRIPT)}"
        bare = {"1": ten, "-1": f"−{ten}"}
        return bare.get(short) or f"{short} × {ten}".replace("-", "−")
    return _fixed(number, digits - 1 - exponent)


def at_least(value: float, digits: int = 3) -> str:
    """Write a number for a sentence that says "at least": never above the value.

    Examples
    --------
    >>> at_least(17.68, 2), at_most(17.68, 2), at_least(0.5)
    ('17', '18', '0.5')
    """
    return format_number(rounded_down(value, digits), digits)


def at_most(value: float, digits: int = 3) -> str:
    """Write a number for a sentence that says "at most": never below the value."""
    return format_number(rounded_up(value, digits), digits)


def percentage(value: float, digits: int = 2) -> str:
    """Write a chance in percent; one that is not certain is never told as 100."""
    more = -math.floor(math.log10(100 - value)) if 99.5 <= value < 100 else 0
    return format_number(value, digits + more)


def rounded_down(value: float, digits: int = 3) -> float:
    """Round to significant digits, never above the value: a lower bound for a table."""
    return _outward(value, digits, ROUND_FLOOR)


def rounded_up(value: float, digits: int = 3) -> float:
    """Round to significant digits, never below the value: an upper bound for a table."""
    return _outward(value, digits, ROUND_CEILING)


def listed(words: Sequence[str]) -> str:
    """Join words for a sentence: ``sum, rows and cells``."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def in_math(value: float) -> str:
    r"""Write a level, a number that is short by itself, for LaTeX.

    Examples
    --------
    >>> in_math(0.25), in_math(20000.0), in_math(1e-06), in_math(5e-07)
    ('0.25', '20{,}000', '10^{-6}', '5 \\cdot 10^{-7}')
    """
    mantissa, _, power = f"{value:,g}".replace(",", "{,}").partition("e")
    if not power:
        return mantissa
    ten = f"10^{{{int(power)}}}"
    return ten if mantissa == "1" else rf"{mantissa} \cdot {ten}"


def not_below(value: float, digits: int = 12) -> str:
    """Write a level in plain letters, so that the number written is no smaller than the level.

    Examples
    --------
    >>> not_below(0.5), not_below(0.12345678, 3), not_below(1e-30)
    ('0.5', '0.124', '1e-30')
    """
    text = f"{value:.{digits}g}"
    return text if float(text) >= value else f"{rounded_up(value, digits):.{digits}g}"


def _outward(value: float, digits: int, rounding: str) -> float:
    number = float(value)
    if number == 0 or not math.isfinite(number) or (number.is_integer() and abs(number) < 1e6):
        return number  # written in full, or refused, by format_number
    exact = Decimal(repr(number))
    place = Decimal(1).scaleb(exact.adjusted() + 1 - digits)
    return float((exact / place).to_integral_value(rounding) * place)


def _fixed(number: float, places: int) -> str:
    if places < 0:
        number = round(number, places)
    return f"{number:z,.{max(places, 0)}f}".replace("-", "−")


@dataclass(frozen=True)
class Mean:
    """A Monte Carlo mean with its standard error (NaN with one run); as text it carries both."""

    value: float
    error: float

    @classmethod
    def of(cls, runs: ArrayLike) -> Mean:
        """Return the mean of independent runs."""
        v = np.asarray(runs, dtype=float)
        return cls(float(v.mean()), float(standard_error(v)) if v.size > 1 else math.nan)

    def times(self, factor: float) -> Mean:
        """Return the mean in another unit."""
        return Mean(self.value * factor, self.error * abs(factor))

    def __str__(self) -> str:
        return format_number(self.value, se=self.error)


def standard_error(runs: Array, axis: int = 0) -> Array:
    """Return the standard error of the mean of independent runs, two or more, along an axis."""
    return np.asarray(runs.std(axis=axis, ddof=1) / math.sqrt(runs.shape[axis]))


def check_whole(
    value: object, name: str, least: int = 1, most: int | None = None, hint: str = ""
) -> int:
    """Return a whole number, or say why it is none."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
        if number >= least and (most is None or number <= most):
            return number
    if isinstance(value, float) and value.is_integer():
        hint += f"{'; ' if hint else ': '}write it as {int(value)}"
    wanted = f"of {least} or more" if most is None else f"from {least} to {most:,}"
    raise InputError(f"{name} is {shown(value)}; it must be a whole number {wanted}{hint}")


def runs_within(runs: int, size: int, most: int = 40_000_000) -> int:
    """Return how many runs to make: those asked for, fewer where each draws very many numbers.

    What is said afterwards must give this number, not the one asked for.
    """
    fewest = 10
    check_whole(runs, "runs", 2, hint=", so that there are standard errors")
    check_whole(size, "d", 2, most // fewest, hint=": every cell is drawn")
    return min(runs, max(fewest, most // size))


def mean_and_error(runs: Array | float, first: Array, second: Array) -> tuple[Array, Array]:
    """Return a mean and its standard error from the sums of a variable and of its square.

    The standard error is NaN with fewer than two runs, the mean with none.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = first / runs
        spread = np.maximum(second - first * mean, 0.0)
        error = np.sqrt(spread / (runs - 1) / runs)
    return mean, np.where(np.asarray(runs) > 1, error, np.nan)
