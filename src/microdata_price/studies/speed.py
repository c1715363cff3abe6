"""How fast fits are: the benchmarks run in a process of their own, and what they show."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ..base.numbers import at_least, format_number
from ..exceptions import BuildError
from ..fitting import METHODS
from ..page.output import Caption

PARTS = ("per_fit", "list_scaling", "large_tables")


def _labelled(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(method=[METHODS[m].label for m in frame["method"]])


@dataclass(frozen=True, eq=False)
class Findings:
    """What the benchmarks measured.

    Parameters
    ----------
    per_fit
        Columns method, solver, milliseconds, ratio (the rebuilt baseline's time over this one's)
        and difference (of the cells from ours, in counts).
    lists
        Columns cells, method, seconds, sort_seconds and ratio (over sorting).
    tables
        One row a square table and method: seconds a fit, and its certificate.
    """

    per_fit: pd.DataFrame
    lists: pd.DataFrame
    tables: pd.DataFrame

    @property
    def worst_certificate(self) -> float:
        """Of the large tables' fits."""
        return float(self.tables["certificate"].max())

    @property
    def ours(self) -> pd.DataFrame:
        """Our own rows, by method."""
        return self.per_fit[self.per_fit["solver"] == "ours"].set_index("method")

    @property
    def _ratios(self) -> str:
        return ", ".join(
            f"{METHODS[str(m)].label} {format_number(float(r), 2)} times"
            for m, r in self.ours["ratio"].items()
        )

    @property
    def opening(self) -> str:
        """What was found."""
        return (
            "**A fit with its certificate is at least "
            f"{at_least(float(self.ours['ratio'].min()), 2)} times faster here than the plain "
            "way.** That is measured on a real 9 × 24 table, on one core of the machine that built "
            "this page, with both in one process."
        )

    @property
    def picture(self) -> Caption:
        """What is said about the picture of all solvers."""
        own, others = (
            self.per_fit.loc[(self.per_fit["solver"] == "ours") == mine, "milliseconds"]
            for mine in (True, False)
        )
        return Caption(
            "One fit of a real 9 × 24 table on one core, ours with its certificate. Against cvxpy "
            f"with Clarabel, the problem rebuilt for each run, ours is faster: {self._ratios}.",
            alt="Bars of milliseconds a fit on a logarithmic scale. Our hatched bars, one a "
            f"method, run from {format_number(own.min(), 2)} to {format_number(own.max(), 2)}; "
            f"those of general solvers from {format_number(others.min(), 2)} to "
            f"{format_number(others.max(), 2)}.",
        )

    @property
    def ratios_said(self) -> str:
        """How many times faster each method is."""
        return (
            f"Against the plain way the ratios are: {self._ratios}. For reweighted fitting "
            "the baseline is given the weights and only solves the last step."
        )

    @property
    def rivals_said(self) -> str:
        """Which of the paper's two recommended methods is the faster here."""
        two = self.ours.loc[["sequential", "reweighted"], "milliseconds"]
        quick, slow = METHODS[str(two.idxmin())].label, METHODS[str(two.idxmax())].label
        return (
            "The paper calls reweighted fitting faster than sequential fitting, which asks more of "
            f"a general solver. With a solver that is made for both, {quick} takes "
            f"{format_number(two.min(), 2)} ms a fit and {slow} {format_number(two.max(), 2)} ms."
        )

    @property
    def table(self) -> pd.DataFrame:
        """All solvers, one row each."""
        return _labelled(self.per_fit).rename(
            columns={
                "milliseconds": "ms a fit",
                "ratio": "times faster than rebuilt",
                "difference": "largest difference, records",
            }
        )

    @property
    def table_caption(self) -> str:
        """What is said about that table."""
        return (
            "Milliseconds a fit on one core; how many times faster than cvxpy with Clarabel, "
            "rebuilt for each run; and the largest difference between that solver's cells and ours."
        )

    @property
    def lists_picture(self) -> Caption:
        """What is said about the picture of lists."""
        most = int(self.lists["cells"].max())
        last = self.lists[self.lists["cells"] == most]
        times = ", ".join(
            f"{METHODS[str(m)].label} {format_number(float(r), 2)}"
            for m, r in zip(last["method"], last["ratio"], strict=True)
        )
        return Caption(
            f"One fit of a list. With {most:,} cells the times are, in multiples of sorting the "
            f"list once: {times}.",
            alt="Lines of seconds against the length of the list, both on logarithmic scales. At "
            "the larger sizes they run beside the line for sorting.",
        )

    @property
    def large(self) -> pd.DataFrame:
        """Square tables."""
        return _labelled(self.tables).rename(columns={"seconds": "seconds a fit"})

    @property
    def large_caption(self) -> str:
        """What is said about them."""
        return "Square tables with their sum, both marginals and all cells, one fit on one core."


def run_benchmarks(root: Path, parts: Sequence[str], quick: bool) -> list[pd.DataFrame]:
    """Run benchmarks in a process of their own, so that nothing but the fits is measured.

    Parameters
    ----------
    root
        The checkout, which has the folder ``benchmarks``.
    parts
        Their names.
    quick
        Small sizes.

    Raises
    ------
    BuildError
        The benchmarks failed; the message ends with what they said.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks", "--out", folder]
        command += [f"--only={part}" for part in parts] + (["--quick"] if quick else [])
        done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["nothing"]
            raise BuildError(f"the benchmarks failed; the last that they said: {said[-1]}")
        return [pd.read_csv(Path(folder) / f"{part}.csv") for part in parts]


def study(root: Path, quick: bool = True) -> Findings:
    """Measure long lists, large tables and one fit of a real table.

    Parameters
    ----------
    root, quick
        As for `run_benchmarks`.

    Raises
    ------
    BuildError
        As for `run_benchmarks`.
    """
    return Findings(*run_benchmarks(root, PARTS, quick))
