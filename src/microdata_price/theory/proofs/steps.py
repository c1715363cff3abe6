"""The inequalities of a proof, evaluated on a concrete mechanism: both sides and the slack."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from ...base.numbers import format_number
from ...exceptions import InputError


class Step(NamedTuple):
    r"""One inequality of a proof, evaluated: ``left <= right``.

    Parameters
    ----------
    name
        What the step is called, a colon, and the inequality, in MyST text with mathematics.
    left, right
        Its two sides.
    left_se
        Standard error of the left side where it is sampled, else 0.
    """

    name: str
    left: float
    right: float
    left_se: float = 0.0

    @property
    def slack(self) -> float:
        """By how much the right side exceeds the left."""
        return self.right - self.left

    @property
    def holds(self) -> bool:
        """True if the inequality holds, up to rounding and five standard errors."""
        size = max(abs(self.left), abs(self.right))
        return self.slack >= -1e-9 * size - 5 * self.left_se


def steps_frame(steps: Iterable[Step]) -> pd.DataFrame:
    r"""Return the steps as a table: name, both sides, slack, inequality.

    Sampled sides are written with their standard errors.
    """
    rows = list(steps)
    for step in rows:
        if not step.holds:
            raise InputError(
                f"the step {step.name!r} does not hold: {step.left:g} is above {step.right:g}; the "
                "mechanism is not what the proof supposes"
            )
    sampled = any(s.left_se > 0 for s in rows)
    return pd.DataFrame(
        {
            "step": [s.name.partition(": ")[0] for s in rows],
            "left side": [
                format_number(s.left, se=s.left_se)
                if s.left_se > 1e-9
                else format_number(s.left)
                if sampled
                else s.left
                for s in rows
            ],
            "right side": [s.right for s in rows],
            "slack": [0.0 if abs(s.slack) < 1e-9 * abs(s.right) else s.slack for s in rows],
            "inequality": [s.name.partition(": ")[2] for s in rows],
        }
    )
