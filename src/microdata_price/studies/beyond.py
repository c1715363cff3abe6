"""Workloads beyond two-way tables: measured while the book is built, and kept from before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from ..base.data import data_path
from ..base.numbers import Mean, at_most, format_number
from ..exceptions import InputError
from ..fitting import METHODS
from ..page.output import Caption
from .speed import run_benchmarks

FILE = "workloads.csv"
REFERENCE = "4-way, pairs and cells"
"""The case whose nonnegative least squares is the unit of the ratios."""
OURS = "ours"
HELD = "ours, mbi's total held"


def _label(method: object) -> str:
    return METHODS[str(method)].label


def _range(values: pd.Series) -> str:
    low, high = (format_number(float(v), 2) for v in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


@dataclass(frozen=True, eq=False)
class Findings:
    """What was measured.

    Parameters
    ----------
    live
        Our own fits, measured now: columns case, cells, queries, method, seconds, certificate and
        conic (how often the conic solver was asked).
    kept
        The file ``data/workloads.csv``; see ``data/README.md`` for its columns.
    asked
        No method should take more than so many times the NNLS of the reference.
    """

    live: pd.DataFrame
    kept: pd.DataFrame
    asked: float

    @property
    def worst_certificate(self) -> float:
        """Of the fits that were made now."""
        return float(self.live["certificate"].max())

    @cached_property
    def ratios(self) -> pd.DataFrame:
        """Each fit's time over that of the reference."""
        at = (self.live["case"] == REFERENCE) & (self.live["method"] == "nnls")
        unit = float(self.live.loc[at, "seconds"].iloc[0])
        return self.live.assign(ratio=self.live["seconds"] / unit)

    @property
    def opening(self) -> str:
        """What was found, with this build's worst ratio."""
        worst = self.ratios.sort_values("ratio").iloc[-1]
        ratio = float(worst["ratio"])
        verdict = (
            f"within the {self.asked:g} times that were asked for"
            if ratio <= self.asked
            else f"more than the {self.asked:g} times that were asked for"
        )
        return (
            f"**No fit of these workloads takes more than {at_most(ratio, 2)} times the NNLS of a "
            "four-way table that is asked for its pairs and its cells.** That is the time of "
            f"{_label(worst['method'])} on the case “{worst['case']}”, measured on one core while "
            f"this page was built; it is {verdict}."
        )

    @cached_property
    def others(self) -> pd.DataFrame:
        """Nonnegative least squares by all solvers, as kept."""
        part = self.kept[(self.kept["part"] == "workloads") & (self.kept["method"] == "nnls")]
        ours = part[part["solver"] == OURS].set_index("case")
        base = ours.loc[part["case"]]
        return part.assign(
            slower=part["seconds"].to_numpy() / base["seconds"].to_numpy(),
            larger=part["megabytes"].to_numpy() / base["megabytes"].to_numpy(),
            above=part["loss"].to_numpy() / base["loss"].to_numpy() - 1,
        )

    @property
    def picture(self) -> Caption:
        """What is said about the picture of all solvers."""
        ours = self.others.loc[self.others["solver"] == OURS, "seconds"]
        rest = self.others.loc[self.others["solver"] != OURS, "seconds"]
        return Caption(
            f"One fit by NNLS on one core, kept from {self._measured}: ours takes {_range(ours)} s "
            f"with its certificate, general solvers {_range(rest)} s without one. "
            f"{self._quicker()}",
            alt="Bars of seconds on a logarithmic scale, in groups of one workload each. Our "
            f"hatched bars run from {_range(ours)}, the others' from {_range(rest)}.",
        )

    @property
    def _measured(self) -> str:
        """The dates of the kept measurements."""
        return " and ".join(sorted(self.kept["measured"].astype(str).unique()))

    @property
    def kept_said(self) -> str:
        """What was computed when, and where."""
        where = "; ".join(sorted(self.kept["where"].unique()))
        versions = "; ".join(sorted(self.kept["versions"].dropna().unique()))
        return (
            "Two kinds of numbers stand on this page. The ratios of our own methods are measured "
            "whenever the book is built. All that needs other solvers, mbi, a process of its own "
            f"for its memory, or minutes, was measured beforehand ({self._measured}; {where}; "
            f"{versions}). It is kept in the file `data/workloads.csv`, which `make workloads` "
            "computes again. Another machine will find other seconds."
        )

    @property
    def ratio_table(self) -> pd.DataFrame:
        """Our own methods, one row a workload."""
        wide = self.ratios.pivot(index="case", columns="method", values="ratio")
        order = list(dict.fromkeys(self.ratios["method"]))
        wide = wide.loc[list(dict.fromkeys(self.ratios["case"])), order]
        sizes = self.live.drop_duplicates("case").set_index("case")[["cells", "queries"]]
        return sizes.join(wide.rename(columns=_label)).reset_index()

    @property
    def ratio_caption(self) -> str:
        """What is said about that table."""
        return (
            "Time of one fit over that of NNLS on the first workload, measured in this build. "
            f"The worst certificate is {format_number(self.worst_certificate, 2)}."
        )

    @property
    def conic_said(self) -> str:
        """How often the general solver was needed."""
        calls = int(self.live["conic"].sum())
        if calls == 0:
            return "The general solver, which takes over where the fast one misses, was not asked."
        times = "once" if calls == 1 else f"{calls} times"
        return f"The general solver, which takes over where the fast one misses, was asked {times}."

    @property
    def others_said(self) -> str:
        """How the other solvers compare."""
        parts = []
        for solver, rows in self.others.groupby("solver", sort=False):
            if solver == OURS:
                continue
            slow = rows["slower"]
            times = f"takes {_range(slow)} times our time"
            memory = f"{_range(rows['larger'])} times our memory"
            parts.append(f"- **{solver}** {times} and {memory}; {_accuracy(rows['above'])}")
        return (
            "Each solver is given the same problem, all queries as the rows of one sparse matrix, "
            "at its usual tolerances.\n\n" + "\n".join(parts) + f"\n\n{self._quicker()}"
        )

    def _quicker(self) -> str:
        """Say plainly where ours is not the quickest."""
        lost = list(dict.fromkeys(self.others.loc[self.others["slower"] < 1, "case"]))
        if not lost:
            return "Ours is the quickest on each of these workloads."
        named = " and ".join(f"“{case}”" for case in lost)
        return f"Ours is not the quickest on {named}; it alone returns a certificate."

    @property
    def others_table(self) -> pd.DataFrame:
        """The same as a table."""
        columns = {
            "case": "workload",
            "solver": "solver",
            "seconds": "seconds",
            "slower": "over ours",
            "megabytes": "MB",
            "loss": "sum of squares",
        }
        return self.others[list(columns)].rename(columns=columns)

    @property
    def others_caption(self) -> str:
        """What is said about that table."""
        return (
            "NNLS on one core: processor seconds, the megabytes by which the solver's process grew "
            "at its peak, and the sum of squared residuals over their variances."
        )

    @cached_property
    def sizes(self) -> pd.DataFrame:
        """The largest tables, as kept."""
        return self.kept[self.kept["part"] == "sizes"]

    @property
    def sizes_said(self) -> str:
        """Whether the sizes that were aimed at are reached."""
        late = self.sizes[self.sizes["seconds"] > self.sizes["allowed"]]
        worst = float(self.sizes["certificate"].max())
        memory = float(self.sizes["megabytes"].max())
        if late.empty:
            reached = "Every fit stayed within the time that was set for it beforehand."
        else:
            named = ", ".join(
                f"{_label(r['method'])} on “{r['case']}” "
                f"({format_number(float(r['seconds']), 2)} s of "
                f"{format_number(float(r['allowed']), 2)})"
                for r in late.to_dict("records")
            )
            reached = f"Not every fit stayed within the time that was set beforehand: {named}."
        return (
            f"The largest table here has {int(self.sizes['cells'].max()):,} cells. {reached} The "
            f"worst certificate is {at_most(worst, 2)}, and no process grew by more than "
            f"{at_most(memory / 1000, 2)} GB."
        )

    @property
    def sizes_table(self) -> pd.DataFrame:
        """The largest tables, one row a workload and method."""
        return pd.DataFrame(
            {
                "workload": self.sizes["case"],
                "method": self.sizes["method"].map(_label),
                "seconds": self.sizes["seconds"],
                "aimed at": self.sizes["allowed"],
                "MB": self.sizes["megabytes"],
                "certificate": self.sizes["certificate"],
            }
        )

    @property
    def sizes_caption(self) -> str:
        """What is said about that table."""
        return "One fit on one core, with its certificate; the time aimed at was set beforehand."

    @cached_property
    def mbi(self) -> pd.DataFrame:
        """The comparison with mbi, as kept."""
        return self.kept[self.kept["part"] == "against_mbi"]

    @property
    def mbi_said(self) -> str:
        """Time, errors and loss of mbi, workload by workload."""
        lines = []
        for case, rows in self.mbi.groupby("case", sort=False):
            by: dict[Any, Any] = rows.set_index("solver").to_dict("index")
            theirs, ours = by["mbi"], by[OURS]
            error = {
                solver: str(Mean(float(row["error"]), float(row["standard_error"])))
                for solver, row in by.items()
            }
            ratio = float(theirs["seconds"] / ours["seconds"])
            time = (
                f"mbi's fit takes {format_number(ratio, 2)} times the time of ours"
                if ratio > 1
                else f"our fit takes {format_number(1 / ratio, 2)} times the time of mbi's"
            )
            lines.append(
                f"- **{case}** ({int(ours['runs'])} runs). The sum of squared errors of all "
                f"answers is {error['mbi']} with mbi, {error[HELD]} with its problem solved "
                f"exactly, and {error[OURS]} with NNLS. In its worst run mbi's own loss ends "
                f"{format_number(100 * float(theirs['excess']), 2)}% above its least; {time}."
            )
        return "\n".join(lines)

    @property
    def mbi_table(self) -> pd.DataFrame:
        """The same as a table."""
        return pd.DataFrame(
            {
                "workload": self.mbi["case"],
                "solver": self.mbi["solver"],
                "seconds a fit": self.mbi["seconds"],
                "squared error": self.mbi["error"],
                "its standard error": self.mbi["standard_error"],
                "loss above mbi's least, %": 100 * self.mbi["excess"],
            }
        )

    @property
    def mbi_caption(self) -> str:
        """What is said about that table."""
        return (
            "Marginals of pairs without cells, the same noise for all. NNLS chooses its own total, "
            "so its loss is below the least that is possible with mbi's. Noise and seconds are "
            "those of this comparison alone."
        )


def _accuracy(above: pd.Series) -> str:
    """Say how far a solver's sums of squares are above ours."""
    if bool(above.isna().any()):
        return "it gave no answer in some case."
    if not above.any():
        return "its sums of squares are ours to the last digit kept."
    apart = at_most(float(above.abs().max()), 2)
    return f"its sums of squares are within {apart} of ours, relatively."


def load_workloads() -> pd.DataFrame:
    """Return the kept measurements; see ``data/README.md`` for their columns.

    Examples
    --------
    >>> sorted(load_workloads()["part"].unique())
    ['against_mbi', 'sizes', 'workloads']
    """
    return pd.read_csv(data_path(FILE))


def study(root: Path, asked: float = 150.0) -> Findings:
    """Measure our own fits now, and read what was kept.

    Parameters
    ----------
    root
        The checkout, which has the folder ``benchmarks``.
    asked
        How many times the reference's time a fit should take at most.

    Raises
    ------
    InputError
        A multiple that is not above 0.
    BuildError
        The benchmarks failed.
    """
    if not asked > 0:
        raise InputError(f"the multiple that is asked for is {asked}; it must be above 0")
    (live,) = run_benchmarks(root, ("workloads",), quick=True)
    return Findings(live, load_workloads(), asked)
