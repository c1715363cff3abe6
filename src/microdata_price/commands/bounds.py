"""``microdata-price bounds``: what one error must be, given the other, and what it can be."""

from __future__ import annotations

import math

import click

from ..base.numbers import rounded_down, rounded_up
from ..exceptions import InputError
from ..model.privacy import KINDS, guarantee_of, parameters
from ..theory.lower.lower_bounds import BOUNDS, lower_bounds
from ..theory.lower.single_cells import single_cell_bounds
from ..theory.upper.reached import MECHANISMS, reached
from . import options

CHANNEL = {
    "channel": "ours: by single cells (under zCDP not the most they prove), weights as outputs",
    "channel_whole": "ours: the same, for outputs in whole numbers",
}
_LEVELS = ("epsilon", "rho", "delta")


@click.command(
    epilog="Example: microdata-price bounds --privacy zcdp --rho 0.125 --points 1000 --sum-error 6"
)
@click.option("--privacy", type=click.Choice(list(KINDS)), required=True, help="The kind.")
@options.EPSILON
@options.RHO
@options.DELTA
@options.exact("--points", required=True, help="The number of disjoint point queries.")
@options.number("--sum-error", help="Root expected squared error of the sum query.")
@options.number("--point-error", help="The same of every point query.")
@options.JSON
def bounds_command(privacy: str, points: float, as_json: bool, **numbers: float | None) -> None:
    """Bound one root error of private microdata from below, given the other.

    Microdata answer d disjoint point queries and their sum. Give the root expected squared error
    that is allowed to the sum (D) to learn what some point query must then have (C), or the other
    way round. Errors are in counts; a bound that says nothing is 0, and a note says why. Below
    stands what known nonnegative mechanisms keep to, on every table: split_budget, asymmetric and
    redrawn at the best of some sum errors, by a quadrature whose error is measured, not proved.
    """
    levels = {name: v for name in _LEVELS if (v := numbers[name]) is not None}
    if set(levels) != set(needed := parameters(privacy)):
        raise InputError(f"--privacy {privacy} needs --{' and --'.join(needed)} and no other level")
    guarantee = guarantee_of(privacy, **levels)
    errors = {name: numbers[name] for name in ("sum_error", "point_error")}
    found = lower_bounds(guarantee, points, **errors)
    known = reached(guarantee, found.points, **errors)
    cells, note = single_cell_bounds(guarantee, found.points, **errors)
    notes = [*found.notes, *([note] if note else []), *known.notes.values()]
    given, other = ("sum", "point") if found.given == "sum_error" else ("point", "sum")
    document = {
        "privacy": privacy,
        **{name: getattr(guarantee, name, None) for name in _LEVELS},
        "points": found.points,
        **errors,
        "bounds": f"{other}_error",
        **(values := found.values | cells),
        "branches": found.branches,
        "constants": {
            name: {k: v if math.isfinite(v) else None for k, v in chosen.items()}
            for name, chosen in found.constants.items()
        },
        "reached": known.values,
        "notes": notes,
    }
    rows = [(name, value, BOUNDS[name].meaning) for name, value in found.values.items()]
    rows[1:1] = [(f"  {k}", v, "the paper's own choice of k") for k, v in found.branches.items()]
    rows += [(name, value, CHANNEL[name]) for name, value in cells.items()]
    reach = [(n, "-" if v is None else f"{rounded_up(v, 6):.6g}") for n, v in known.values.items()]
    least = f"the {other} error is at least" if any(values.values()) else "no bound says anything"
    some = any(v is not None for v in known.values.values())
    most = "Nonnegative mechanisms that keep to it on all tables (not: -); other error at most:"
    title = f"{guarantee.describe().capitalize()}, d = {found.points} point queries."
    blocks = [
        [title, f"Where the {given} error is at most {found.amount:.15g}, {least}:"],
        [f"  {name:<16} {rounded_down(v, 6):>12.6g}  {meaning}" for name, v, meaning in rows],
        [most if some else "No known nonnegative mechanism keeps to that on every table:"],
        [f"  {name:<16} {text:>12}  {MECHANISMS[name]}" for name, text in reach],
        [f"  - {note}" for note in notes],
    ]
    options.tell(as_json, document, "\n\n".join("\n".join(b) for b in blocks if b))
