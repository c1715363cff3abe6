"""Max fitting: what sets its distance, when it is NNLS, and what one extreme noise does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..base.numbers import Mean, at_most, format_number
from ..fitting import Fit, fit_max, fit_nnls, max_distance
from ..model.measurement import Measurements
from ..model.noise import Laplace
from ..optimize.distance import Distance
from ..page.output import Caption
from ..theory.upper.extremes import extremes
from .cases import Case
from .one_method import OneMethod

Array = NDArray[np.float64]

PLACES = (-20.0, -12.0, -8.0, -5.0, -3.0, 0.0, 3.0, 5.0, 8.0, 12.0, 20.0)
"""The noise given to one cell by hand, in standard deviations."""

PLACED_RUNS = 100
"""In how many of the runs at most."""

SAME = 1e-6
"""Tables that differ by no more than this are the same, in standard deviations of the noise."""


@dataclass(frozen=True, eq=False)
class OneCell:
    """What one cell's noise does, chosen by hand among the same noises of all other answers (ours).

    Parameters
    ----------
    runs
        How many.
    empty
        Whether the cell holds no record.
    roots
        By method and place, the root of the mean squared error of the sum, in counts.
    distances
        By place, max fitting's mean distance, in standard deviations.
    same
        By place, the share of runs in which max fitting's table is that of NNLS.
    """

    runs: int
    empty: bool
    roots: dict[str, tuple[Mean, ...]]
    distances: tuple[Mean, ...]
    same: tuple[float, ...]

    @property
    def lines(self) -> tuple[Array, list[tuple[str, Array]], Array]:
        """The places, each method's roots in counts, and the distances, for the picture."""
        roots = [(m, np.array([r.value for r in means])) for m, means in self.roots.items()]
        return np.array(PLACES), roots, np.array([d.value for d in self.distances])


@dataclass(frozen=True, eq=False)
class Findings(OneMethod):
    """What max fitting does to a small list and to a table of the benchmark.

    Parameters
    ----------
    short_distance, distance
        The first stage's results.
    one_cell
        What one cell's noise does.

    Examples
    --------
    >>> found = study(runs=2)
    >>> bool((found.far >= found.distance.value - 1e-9).all())
    True
    """

    method: ClassVar[str] = "maxfit"

    short_distance: Distance
    distance: Distance
    one_cell: OneCell

    @cached_property
    def same(self) -> NDArray[np.bool_]:
        """In which runs the table is that of NNLS up to a millionth of the noise."""
        return _same(self.fitted, self.nnls, self.case.noise.std)

    @cached_property
    def far(self) -> Array:
        """The largest deviation of NNLS from a noisy answer, shape (runs,), in noises."""
        m = self.case.measurements
        pairs = zip(self.nnls.answers(), m.answers, strict=True)
        apart = np.concatenate([np.abs(x - a) for x, a in pairs], axis=1)
        return np.asarray(apart.max(axis=1) / self.case.noise.std)

    @property
    def _forced(self) -> NDArray[np.bool_]:
        lowest = np.concatenate(self.case.measurements.answers, axis=1).min(axis=1)
        least = np.maximum(-lowest, 0) / self.case.noise.std
        return np.asarray(np.isclose(self.distance.value, least, rtol=1e-9, atol=1e-9))

    @property
    def opening(self) -> str:
        """What was found."""
        cell, same = self.one_cell, 100 * float(self.same.mean())
        ours, theirs = cell.roots["maxfit"][-1], cell.roots["nnls"][-1]
        kind = "an empty cell" if cell.empty else "one cell"
        if self._forced.mean() > 0.5:
            finding = "One extreme noise mostly sets the rules for all answers."
        else:
            finding = "A few answers that contradict each other set the rules for all."
        return (
            f"**{finding}** On {self._where} max fitting "
            f"returns the table of NNLS in {format_number(same)} % of the runs, and its squared "
            f"error of the sum is {self.ratio()} times that of OLS. Give {kind} a noise of "
            f"{PLACES[-1]:g} standard deviations, and the error of the sum is {ours} records (root "
            f"mean square); with NNLS it is {theirs}."
        )

    @property
    def extreme_picture(self) -> Caption:
        """What is said about one cell's noise."""
        cell = self.one_cell
        down, up = ({m: r[i] for m, r in cell.roots.items()} for i in (0, -1))
        _, roots, distance = cell.lines
        told = {m: [format_number(v, 2) for v in values[[0, 5, -1]]] for m, values in roots}
        return Caption(
            f"The noise of one cell is set by hand, in {cell.runs} runs. At {PLACES[-1]:g} "
            f"standard deviations above zero the error of the sum is {up['maxfit']} records with "
            f"max fitting and {up['nnls']} with NNLS; at {-PLACES[0]:g} below, {down['maxfit']} "
            f"and {down['nnls']}.",
            alt=f"Two panels against the noise of one cell, from −{-PLACES[0]:g} to "
            f"{PLACES[-1]:g} standard deviations. Left, the error of the sum at both ends and at "
            f"zero, from left to right: with max fitting {', '.join(told['maxfit'])} records, with "
            f"NNLS {', '.join(told['nnls'])}. Right, the distance of max fitting: "
            f"{', '.join(format_number(d, 2) for d in distance[[0, 5, -1]])}.",
        )

    @property
    def small_picture(self) -> Caption:
        """What is said about the picture of the small list."""
        std, noisy = self.short.noise.std, self.short.noisy_cells[0]
        t, zeros = float(self.short_distance.value[0]), int((self.short_fit.cells[0] == 0).sum())
        if np.isclose(t * std, -noisy.min()):
            why = (
                "no nonnegative table can be closer to it than zero is, and that sets the distance"
            )
        else:
            why = (
                "but that is not what sets the distance here: the cells and their sum cannot all "
                "be met any closer"
            )
        return Caption(
            f"The distance is {format_number(t, 2)} standard deviations, {format_number(t * std)} "
            f"records. The lowest noisy answer is that of cell {int(noisy.argmin()) + 1}, "
            f"{format_number(float(noisy.min()))}; {why}.",
            alt="Grey bars for a sum and eight true cells, crosses for noisy answers, triangles "
            f"for fitted ones. No fitted answer is further than {at_most(t * std, 3)} records from "
            f"its cross; {zeros} {'cell is' if zeros == 1 else 'cells are'} zero.",
        )

    @property
    def distance_said(self) -> str:
        """What sets the distance, and how far NNLS goes."""
        forced, empty = 100 * float(self._forced.mean()), int(self.case.empty.sum())
        if forced > 50:
            first = "Mostly that is all there is to it."
        else:
            first = (
                "But on this table something else sets it more often: answers that contradict each "
                "other."
            )
        said = (
            f"{first} Over {self.runs:,} runs $t$ is {Mean.of(self.distance.value)} on average, "
            f"and in {format_number(forced)} % of the runs it is exactly the most negative noisy "
            "answer. NNLS pays no attention to the largest deviation; its own is "
            f"{Mean.of(self.far)}."
        )
        if not empty:
            return said
        expected = format_number(float(extremes(self.case.noise, empty).mean) / self.case.noise.std)
        how = "by quadrature"
        if isinstance(self.case.noise, Laplace):
            how = "exactly, by [Lemma O30](two_lemmas.ipynb#lemmas-largest-exact)"
        return said + (
            f" For comparison, the largest *absolute* noise on {empty} cells, as many as are empty "
            f"here, is {expected} standard deviations on average ({how}). Only negative noise "
            "counts for $t$."
        )

    @property
    def same_said(self) -> str:
        """How often the table is that of NNLS, and what changes where it is not."""
        apart, truth = ~self.same, self.case.truth
        said = (
            f"That is what happens in {format_number(100 * float(self.same.mean()))} % of the "
            "runs: the two tables agree to a millionth of the noise. "
        )
        if apart.sum() < 2:
            return said + (
                "There are not two runs in which they differ, so on this table the two methods are "
                "practically one."
            )
        gain = Mean.of(self.far[apart] - self.distance.value[apart])
        squares = [((f.cells - truth) ** 2).sum(axis=1)[apart] for f in (self.fitted, self.nnls)]
        rise = Mean.of(squares[0] - squares[1])
        verb = "raises" if rise.surely_above(0) else "changes"
        return said + (
            f"Where they differ, max fitting lowers the largest deviation by {gain} standard "
            f"deviations. It {verb} the total squared error of the cells by {rise} squared records "
            "on average."
        )

    @property
    def response_picture(self) -> Caption:
        """What is said about the cells of one run."""
        row, std = self.one_run[1], self.case.noise.std
        zero = int((row == 0).sum())
        which = "the same as" if self.same[0] else "not the same as"
        return Caption(
            f"One run on `{self.dataset}`: {zero} of {row.size} cells become zero. The distance is "
            f"{format_number(float(self.distance.value[0]) * std)} records. In this run the table "
            f"is {which} that of NNLS.",
            alt=f"Fitted against noisy cells in one run; {zero} of {row.size} cells lie on the "
            "zero line, and the others near the diagonal.",
        )

    @property
    def stopped_said(self) -> str:
        """How often the box stops the sum."""
        m, std = self.case.measurements, self.case.noise.std
        away = np.abs(self.fitted.answers()[0] - m.answers[0])[:, 0] / std
        stopped = 100 * float((away >= self.distance.value - SAME).mean())
        return (
            "The box leaves the sum the same $t$ standard deviations of room as everything else. "
            f"In {format_number(stopped)} % of the runs the sum uses up all of it."
        )

    @property
    def ends_said(self) -> str:
        """What one extreme noise does in either direction."""
        cell = self.one_cell
        same = format_number(100 * cell.same[0])
        low, high = (_plainly(cell.distances[i]) for i in (0, -1))
        said = (
            f"At {-PLACES[0]:g} standard deviations below zero the distance is {low} on average: "
            "the cell cannot follow so far. The box is then wide for all others, and in "
            f"{same} % of the runs max fitting is NNLS. At {PLACES[-1]:g} above zero the distance "
            f"is {high}: the cell should be large, and the aggregates that count it "
            "should not. "
        )
        ours, theirs = cell.roots["maxfit"][-1], cell.roots["nnls"][-1]
        apart = ours.value - theirs.value
        if apart > max(0.1 * theirs.value, 4 * float(np.hypot(ours.error, theirs.error))):
            return said + (
                "To shorten the one large deviation, max fitting drags the sum along: it is "
                f"{ours} records off (root mean square), where NNLS is {theirs} off."
            )
        return said + (
            f"That does not clearly harm the sum more than NNLS does: it is {ours} records off "
            f"(root mean square), and with NNLS {theirs}."
        )

    @property
    def bound(self) -> Array:
        """The bound that the multipliers prove, shape (runs,), in standard deviations."""
        pairs = zip(self.distance.multipliers, self.case.measurements.answers, strict=True)
        return np.asarray(-sum((y * a).sum(axis=1) for y, a in pairs))

    @property
    def certificate_said(self) -> str:
        """How well both stages are proved."""
        y = np.concatenate(self.distance.multipliers, axis=1)
        used = (np.abs(y) > 1e-9 / self.case.noise.std).sum(axis=1)
        _, dual, gap = self._certified
        apart = at_most(float(np.abs(self.bound - self.distance.value).max()), 2)
        return (
            f"In {format_number(100 * float((used == 1).mean()))} % of the runs a single answer is "
            f"proof enough, the most negative one; in no run are more than {int(used.max())} used. "
            f"The bound differs from the distance by at most {apart}. The second stage is optimal "
            f"in its box: {self._certified.constraints}, the gradient misses its condition by at "
            f"most {dual}, and the duality gap is at most {gap}, all relative to the problem's "
            "scale."
        )

    @classmethod
    def _own(cls, given: OneMethod) -> tuple[Any, ...]:
        distances = max_distance(given.short.measurements), max_distance(given.case.measurements)
        return *distances, set_one_cell(given.case)


def _same(fit: Fit, nnls: Fit, std: float) -> NDArray[np.bool_]:
    return np.asarray(np.abs(fit.cells - nnls.cells).max(axis=1) <= SAME * std)


def _plainly(mean: Mean) -> str:
    """Write a mean, without its standard error where all runs agree up to rounding."""
    return format_number(mean.value) if mean.error < 1e-9 * abs(mean.value) else str(mean)


def _root(errors: Array) -> Mean:
    """Return the root mean square, with its standard error by the delta method."""
    square = Mean.of(errors**2)
    root = float(np.sqrt(square.value))
    return Mean(root, square.error / (2 * root) if root > 0 else 0.0)


def set_one_cell(case: Case) -> OneCell:
    """Give one cell's noisy answer the noises `PLACES`, leave all else alone, and fit.

    The cell is an empty one where there is one, else the smallest.

    Examples
    --------
    >>> from microdata_price.model.privacy import PureDP
    >>> from microdata_price.studies.cases import bench_case
    >>> case = bench_case("Level00-1d", PureDP(0.5), runs=3, seed=1)[1]
    >>> round(set_one_cell(case).distances[0].value, 6)
    20.0
    """
    chosen = np.flatnonzero(case.empty) if case.empty.any() else np.array([case.truth.argmin()])
    cell = int(chosen[chosen.size // 2])
    part, std = case.measurements.select(slice(0, PLACED_RUNS)), case.noise.std
    roots: dict[str, list[Mean]] = {"nnls": [], "maxfit": []}
    distances, same = [], []
    for place in PLACES:
        answers = [a.copy() for a in part.answers]
        answers[-1][:, cell] = case.truth[cell] + place * std
        changed = Measurements(part.workload, tuple(answers), part.noise)
        fits = {"nnls": fit_nnls(changed), "maxfit": fit_max(changed)}
        for method, fit in fits.items():
            roots[method].append(_root(fit.cells.sum(axis=1) - case.truth.sum()))
        distances.append(Mean.of(max_distance(changed).value))
        same.append(float(_same(fits["maxfit"], fits["nnls"], std).mean()))
    return OneCell(
        part.runs,
        bool(case.truth[cell] == 0),
        {m: tuple(r) for m, r in roots.items()},
        tuple(distances),
        tuple(same),
    )


study = Findings.study
