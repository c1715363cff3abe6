"""What the explorer's page says of its numbers, chosen by the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.numbers import at_most, format_number
from ..model.privacy import KINDS, Guarantee, guarantee_of, parameters
from ..theory.lower.lower_bounds import BOUNDS
from .bounds import EVERY
from .pack import SCALE
from .values import Shown, shown


def _range(stops: Sequence[float]) -> str:
    low, high = (format_number(f(stops)).removeprefix("1 × ") for f in (min, max))
    return f"{low} to {high} ({len(stops)} stops)"


def setting_title(start: Mapping[str, Any]) -> str:
    """Name a setting.

    Examples
    --------
    >>> setting_title({"privacy": "pure", "epsilon": 0.5, "d": 10000})
    'ε = 0.5, d = 10,000'
    """
    return f"{_guarantee(start).plain}, d = {format_number(start['d'])}"


def _guarantee(start: Mapping[str, Any]) -> Guarantee:
    return guarantee_of(start["privacy"], **{k: start[k] for k in parameters(start["privacy"])})


def _finding(now: Shown) -> str:
    """Say what the bounds say at the setting shown first."""
    best, D = now.sharpest, format_number(now.total)
    if best.C <= 0:
        return f"at a sum error of D = {D} the bounds say nothing"
    C, signed = format_number(best.C), format_number(now.signed)
    if now.signed >= best.C:
        return (
            f"microdata whose sum has error {D} must have a count with error {C} or more on some "
            f"table, which is no more than the {signed} of signed answers"
        )
    times = format_number(best.C / now.signed, 2)
    return (
        f"microdata whose sum has error {D} must have a count with error {C} or more on some "
        f"table, {times} times the {signed} of signed answers"
    )


def _alt(start: Mapping[str, Any], now: Shown) -> str:
    mechanisms = "; ".join(
        f"{m.title} has C = {format_number(float(m.C[0]))} and D = {format_number(float(m.D[0]))}"
        for m in now.mechanisms
        if m.C.size == 1
    )
    bounds = ", ".join(f"{b.title} {format_number(b.C)}" for b in now.bounds if b.C > 0)
    return (
        f"The C-D plane at {setting_title(start)}, both axes logarithmic. Curves that fall from "
        "the upper left bound the error C of some count from below, given the error D of the sum; "
        f"at D = {format_number(now.total)}: {bounds or 'none'}. Points: {mechanisms}."
    )


_ORDINALS = {2: "second", 3: "third", 4: "fourth", 5: "fifth"}


def _between(plane: Mapping[str, Any]) -> str:
    """Say how far a drawn bound is from the true one between nodes, at worst and at the start."""
    start = plane["start"]
    first = _guarantee(start)
    errors = [
        (off, b["key"], KINDS[kind].symbol, level)
        for kind, mode in plane["modes"].items()
        for b in mode["bounds"]
        for level, off in zip(mode["levels"], b["between"], strict=True)
    ]
    worst, name, axis, level = max(errors)
    mode = plane["modes"][start["privacy"]]
    here = max(b["between"][mode["levels"].index(first.level)] for b in mode["bounds"])
    sparse = ", ".join(f"every {_ORDINALS[n]} for {BOUNDS[b].label}" for b, n in EVERY.items())
    return (
        "Between its computed points a bound is drawn straight, C against log D. The drawn curve "
        f"is off by at most {at_most(100 * here, 2)} % at "
        f"{first.symbol} = {first.level:g}, in C or in D, and by at most "
        f"{at_most(100 * worst, 2)} % at the worst level, "
        f"{axis} = {level:g} ({BOUNDS[name].label}). This was measured at three places between "
        f"neighbouring points, for every number d ({sparse})."
    )


def _exact(plane: Mapping[str, Any]) -> str:
    modes = plane["modes"]
    kept = format_number(100 / (2 * SCALE), 2)
    return (
        "Every number was computed by the package behind the book, and the sliders stop only where "
        f"it was: ε from {_range(modes['pure']['levels'])}, ρ from "
        f"{_range(modes['zcdp']['levels'])}, δ from {_range(modes['approximate']['deltas'])}, d "
        f"from {_range(plane['points'])}, and D from {_range(plane['sums'])} times the error of "
        f"signed answers. At a stop no bound is interpolated, and of the "
        f"mechanisms only weighted fits; numbers are kept to {kept} %."
    )


def _draws(draws: Mapping[str, Any]) -> str:
    return (
        f"The second view shows {draws['draws']} draws for each of {len(draws['tables'])} tables "
        f"and {len(draws['levels'])} levels, with noise drawn and tables fitted by the package; "
        f"the worst certificate of optimality among its fits is "
        f"{format_number(draws['worst_certificate'], 2)}. Expected errors are means of "
        f"{format_number(draws['expected_runs'])} other draws, with their standard errors."
    )


def _weighted(plane: Mapping[str, Any]) -> str:
    modes = plane["modes"].values()
    off = at_most(100 * max(mode["weighted_between"] for mode in modes), 2)
    knots, checked = (
        ", ".join(format_number(d).removeprefix("1 × ") for d in plane["modes"]["pure"][name])
        for name in ("knots", "checked")
    )
    return (
        "Nonnegative least squares in which the sum has its own weight, from 0 to infinity, where "
        "it is M′; half of the budget for the counts and half for the sum. Drawn are its errors on "
        "the worst of three kinds of tables: one large count among zeros, all zeros, all large "
        f"(ours). They are exact integrals at d = {knots}, and interpolated elsewhere, with an "
        f"error of at most {off} % where that was measured (d = {checked})."
    )


def placeholders(plane: dict[str, Any], draws: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts that the page waits for, by the names of their places.

    Parameters
    ----------
    plane, draws
        The two views' data.
    """
    start = plane["start"]
    now = shown(plane, start)
    return {
        "STATIC_ALT": _alt(start, now),
        "STATIC_CAPTION": f"At {setting_title(start)}, {_finding(now)}.",
        "WEIGHTED_NOTE": _weighted(plane),
        "EXACT_NOTE": _exact(plane),
        "BETWEEN_NOTE": _between(plane),
        "DRAWS_NOTE": _draws(draws),
        "DRAWS_LEVEL": draws["start"],
    }
