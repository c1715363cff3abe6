"""Line search on a convex piecewise quadratic function, a batch of runs at once.

Along a step s the dual function of `dual_newton` is convex and piecewise quadratic, and minus its
slope, ``F(y + t s) . s``, falls piecewise linearly from a positive value. Its zero is enclosed and
approached by secants and tangents in turn, with no product with U after the first two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.batch import Batch
from .boxed import Boxed, Structure
from .tuning import TUNING

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Line(Batch):
    """The dual function along a step, so that an evaluation needs no product with U."""

    by_run = ("cells", "move", "force", "hi", "wanted", "rate", "step", "radius", "slope")
    by_run_or_shared = ("lo",)

    cells: Array  # the cells before they are held within their bounds, which are ``cells - t move``
    move: Array
    force: Array  # U' step: how the step acts on each cell
    lo: Array  # the cells' bounds
    hi: Array | None
    # The residual that each multiplier asks for, ``wanted + t rate`` within the radius.
    wanted: Array
    rate: Array
    step: Array  # of the aggregates
    radius: Array | None
    slope: Array  # ``F . step`` at the start

    @classmethod
    def of(cls, structure: Structure, box: Boxed, y: Array, step: Array, slope: Array) -> _Line:
        """Return the line from y along the step."""
        force = structure.rmatvec(step)
        return cls(
            box.centre - structure.rmatvec(y) * box.cell_inverse_weight,
            force * box.cell_inverse_weight,
            force,
            box.lo,
            box.hi,
            y * box.inverse_weight,
            step * box.inverse_weight,
            step,
            box.radius,
            slope,
        )

    def at(self, t: Array) -> tuple[Array, Array]:
        """Return the slope ``F . step`` at t and how fast it falls there, shapes (runs,)."""
        v = self.cells - t[:, None] * self.move
        inside = v > self.lo
        x, start = np.maximum(v, self.lo), np.maximum(self.cells, self.lo)
        wanted, rate = t[:, None] * self.rate, self.rate
        if self.hi is not None:
            inside &= v < self.hi
            x, start = np.minimum(x, self.hi), np.minimum(start, self.hi)
        if self.radius is not None:
            asked = self.wanted + wanted
            rate = np.where(np.abs(asked) < self.radius, rate, 0.0)
            wanted = np.clip(asked, -self.radius, self.radius)
            wanted = wanted - np.clip(self.wanted, -self.radius, self.radius)
        # Differences from the start, so that large counts cancel before they are multiplied.
        slope = self.slope + (self.force * (x - start)).sum(axis=1)
        slope -= (self.step * wanted).sum(axis=1)
        bend = (inside * (self.force * self.move)).sum(axis=1)
        return slope, np.asarray(bend + (self.step * rate).sum(axis=1))


def search(
    structure: Structure, box: Boxed, y: Array, step: Array, slope: Array, past: float
) -> Array:
    """Search along the step for a point where the slope has nearly gone, run by run.

    Where the step ends before the slope has fallen, as in a direction in which the Newton matrix is
    singular, it is doubled. Once the slope's zero is enclosed, in turn the zero of the chord, which
    creeps up where the slope falls late and steeply, and that of the tangent at the far end.
    """
    line = _Line.of(structure, box, y, step, slope)
    left = np.arange(slope.size)
    best, high = np.ones(slope.size), np.ones(slope.size)
    low, at_low = np.zeros(slope.size), slope
    at_high, bend = line.at(high)
    for count in range(40):
        enclosed = at_high < 0
        # By rounding, the slope may not fall at all between two ends that are close.
        fall = np.where(enclosed & (at_low > at_high), at_low - at_high, 1.0)
        chord = np.clip(low + (high - low) * at_low / fall, low, high)
        t = np.where(enclosed, chord, 2 * high)
        if count % 2 == 1:
            tangent = high + at_high / np.where(bend > 0, bend, 1.0)
            usable = (bend > 0) & (tangent > low) & (tangent < high)
            t = np.where(enclosed, np.where(usable, tangent, (low + high) / 2), t)
        found, bends = line.at(t)
        best[left] = t
        keep = np.flatnonzero((found > TUNING.enough * line.slope) | (found < -past * line.slope))
        if keep.size == 0:
            break
        beyond = found < 0
        # Without a zero between them both ends move on.
        low, at_low = (
            np.where(beyond, np.where(enclosed, low, high), t),
            np.where(beyond, np.where(enclosed, at_low, at_high), found),
        )
        ahead = beyond | ~enclosed
        high, at_high = np.where(ahead, t, high), np.where(ahead, found, at_high)
        bend = np.where(ahead, bends, bend)
        if keep.size < found.size:
            left, line, bend = left[keep], line.select(keep), bend[keep]
            low, high, at_low, at_high = low[keep], high[keep], at_low[keep], at_high[keep]
    return best
