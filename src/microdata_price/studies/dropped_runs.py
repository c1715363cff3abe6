"""Dropped runs: exact fits of all runs, beside an imitation that drops some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import Mean, at_most, format_number
from ..exceptions import InputError
from ..fitting import METHODS, fit
from ..model.benchmark import data_set
from ..model.measurement import measure
from ..model.noise import Noise
from ..model.privacy import PureDP
from ..page.output import Caption
from .first_order import DISTANCE_SLACK, EQUALITY_SLACK, ITERATIONS, TOLERANCE, imitate

Array = NDArray[np.float64]

MOST_RUNS = 200
"""Many repetitions of an imitation teach no more than these, and each is slow."""
FEW = 10
"""Fewer runs than these have no mean that could be compared."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One method on one table: exact fits, and what the first-order solver made of the same noise.

    Parameters
    ----------
    table, method
        The data set and the method's name.
    error
        The exact fits' errors of the sum, shape (runs,), in counts.
    imitated
        The first-order solver's, same shape.
    kept
        Which runs it reports as solved.
    """

    table: str
    method: str
    error: Array
    imitated: Array
    kept: NDArray[np.bool_]

    @property
    def label(self) -> str:
        """The experiment in words."""
        return f"{METHODS[self.method].label} on {self.table}"

    @property
    def count(self) -> str:
        """How many runs are kept, in words."""
        return f"{int(self.kept.sum())} of {self.kept.size}"

    @property
    def ratio(self) -> float:
        """The squared error over the kept runs as a multiple of that over all."""
        return float((self.error[self.kept] ** 2).mean() / (self.error**2).mean())


def _mean(values: Array) -> str:
    return str(Mean.of(values)) if values.size > 1 else "–"


@dataclass(frozen=True, eq=False)
class Findings:
    """All experiments of the chapter.

    Parameters
    ----------
    epsilon
        Pure differential privacy of all answers together.
    noise
        The noise of the sum.
    trials
        Sequential and max fitting on each table.
    worst_certificate
        Of the exact fits.
    """

    epsilon: float
    noise: Noise
    trials: tuple[Trial, ...]
    worst_certificate: float

    @property
    def fewest(self) -> Trial:
        """The experiment that keeps the fewest runs."""
        return min(self.trials, key=lambda t: int(t.kept.sum()))

    @property
    def runs(self) -> int:
        """How many runs each experiment has."""
        return self.trials[0].kept.size

    @property
    def opening(self) -> str:
        """What was found."""
        least = self.fewest
        if least.kept.all():
            return (
                f"**Our imitation keeps every run.** At $\\epsilon = {format_number(self.epsilon)}$"
                " the first-order solver solves all of them, so nothing is hidden."
            )
        return (
            f"**Our imitation keeps {least.count} runs of {least.label}.** The exact fits of the "
            "dropped runs exist: every one of them is solved here and carries a certificate."
        )

    @property
    def pictures(self) -> tuple[Trial, ...]:
        """The experiments, as the figure takes them."""
        return self.trials

    @property
    def picture(self) -> Caption:
        """What is said about the picture of all runs."""
        return Caption(
            "The error of the sum in every run, by exact fits, sorted into the runs that the "
            f"imitation keeps and those that it drops. It keeps the fewest, {self.fewest.count}, "
            f"of {self.fewest.label}.",
            alt="For each experiment two rows of points on an axis of the exact fit's error of the "
            "sum: the runs that would have been kept and those that would have been dropped. "
            + " ".join(f"{t.label}: {t.count} kept." for t in self.trials),
        )

    @property
    def settings(self) -> str:
        """The settings that are imitated."""
        return (
            f"The settings are tolerances of {format_number(TOLERANCE)}, at most "
            f"{ITERATIONS:,} iterations, equalities loosened by "
            f"{format_number(EQUALITY_SLACK)} records either way, and the distance of max fitting "
            f"enlarged by {format_number(DISTANCE_SLACK)} standard deviations of the noise."
        )

    @property
    def table(self) -> pd.DataFrame:
        """The sum's squared errors over all and over the kept runs."""
        return pd.DataFrame(
            [
                {
                    "table": t.table,
                    "method": METHODS[t.method].label,
                    "kept": t.count,
                    "exact fits, all runs": _mean(t.error**2),
                    "exact fits, kept runs": _mean(t.error[t.kept] ** 2),
                    "imitation, kept runs": _mean(t.imitated[t.kept] ** 2),
                }
                for t in self.trials
            ]
        )

    @property
    def table_caption(self) -> str:
        """What is said about that table."""
        return (
            f"Squared error of the sum query: the exact fits of all {self.runs} runs, the exact "
            "fits of those runs that the first-order solver reports as solved, and what it returns "
            "for them. A dash stands for fewer than two runs."
        )

    @property
    def fewest_said(self) -> str:
        """How few are kept, and how good their answers are."""
        apart = [np.abs(t.imitated - t.error)[t.kept].max() for t in self.trials if t.kept.any()]
        start = f"The fewest kept runs are those of {self.fewest.label}: {self.fewest.count}."
        if not apart:
            return start
        return (
            f"{start} In the kept runs the sums of the first-order solver are within "
            f"{at_most(float(max(apart)), 2)} records of the exact ones, so the *answers* are "
            "fine. It is the *selection* that may matter."
        )

    @property
    def moved_said(self) -> str:
        """What the selection does to the mean squared error."""
        some = [t for t in self.trials if FEW <= t.kept.sum() < t.kept.size]
        few = [t for t in self.trials if t.kept.sum() < FEW]
        said = "Here no mean over a part of the runs can be compared with that over all."
        if some:
            listed = ", ".join(f"{format_number(t.ratio, 2)} times for {t.label}" for t in some)
            said = (
                "Over the kept runs the mean squared error is, in multiples of that over all: "
                f"{listed}. Where few runs are kept, the standard error is large."
            )
        if few:
            names = " and ".join(t.label for t in few)
            said += f" Too few runs are left of {names} for a comparison."
        return said

    @property
    def kept_all_said(self) -> str:
        """Which experiments lose nothing."""
        whole = [t.label for t in self.trials if t.kept.all()]
        if not whole:
            return f"Every one of the {len(self.trials)} experiments loses runs."
        return (
            f"Not every experiment suffers: {' and '.join(whole)} "
            f"{'keeps' if len(whole) == 1 else 'keep'} every run. So our imitation does not "
            "explain every printed value; the authors' solver will have failed in other runs."
        )

    @property
    def which_said(self) -> str:
        """Whether what sequential fitting keeps is like what it drops."""
        own = min(
            (t for t in self.trials if t.method == "sequential"), key=lambda t: int(t.kept.sum())
        )
        groups = own.error[own.kept], own.error[~own.kept]
        if min(g.size for g in groups) < 2:
            return (
                f"On {own.table} sequential fitting keeps {own.count} runs, so there are no two "
                "groups to compare."
            )
        kept, lost = (Mean.of(g) for g in groups)
        apart = abs(kept.value - lost.value) / float(np.hypot(kept.error, lost.error))
        said = (
            f"On {own.table} the noise of the sum averages {kept} records in the runs that "
            f"sequential fitting keeps and {lost} in those that it drops. The two are "
            f"{format_number(apart, 2)} standard errors apart. "
        )
        if apart > 3:
            return (
                said + "So whether a run is kept depends on the noise, and an average over the "
                "kept runs is not an average over the noise."
            )
        return (
            said + "That is no more than chance may do. But nothing guarantees that what is kept "
            "is like what is dropped."
        )

    @property
    def variance_said(self) -> str:
        """The number that no data set can change."""
        return (
            f"At $\\epsilon = {format_number(self.epsilon)}$ it is "
            f"{format_number(self.noise.variance, 4)}."
        )

    @property
    def certified_said(self) -> str:
        """How good the exact fits are."""
        return (
            f"The worst certificate of the {self.runs * len(self.trials):,} fits behind this page "
            f"is {at_most(self.worst_certificate, 2)}."
        )


def study(
    epsilon: float = 0.5,
    tables: Sequence[str] = ("Level00-2d", "PUMA1304600"),
    runs: int = MOST_RUNS,
    seed: int = 11,
) -> Findings:
    """Fit each run exactly and by an imitation of the authors' solver (ours).

    Parameters
    ----------
    epsilon
        Pure differential privacy of all answers together.
    tables
        Two-way data sets of the benchmark, one or more.
    runs
        Repetitions, 2 or more; `MOST_RUNS` are used at most.
    seed
        Of the noise; each table starts anew from it.

    Raises
    ------
    InputError
        An unknown or no data set, fewer than 2 runs, or a level out of range.
    CertificateError
        An exact fit that misses its certificate.

    Examples
    --------
    >>> study(tables=["Level16-1d"], runs=3).trials[0].error.shape
    (3,)
    """
    if not tables or runs < 2:
        raise InputError(
            f"given are {len(tables)} tables and {runs} runs; give 1 table and 2 runs or more"
        )
    trials = []
    worst = 0.0
    for name in tables:
        data = data_set(name)
        rng = np.random.default_rng(seed)
        answers = measure(
            data.table, data.workload, PureDP(epsilon), runs=min(runs, MOST_RUNS), rng=rng
        )
        truth = float(data.table.sum())
        for method in ("sequential", "maxfit"):
            exact, imitated = fit(answers, method), imitate(answers, method)
            worst = max(worst, exact.certificate.worst)
            errors = (exact.cells.sum(axis=1) - truth, imitated.cells.sum(axis=1) - truth)
            trials.append(Trial(name, method, *errors, imitated.solved))
    return Findings(epsilon, answers.noise[0], tuple(trials), worst)
