"""What the scorecard says: the paper's Tables 1 and 2 beside the same experiment computed again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ..base.numbers import at_least, at_most, format_number
from ..fitting import CONTROL, METHODS, paper_methods
from ..grid.spec import PAPER_RUNS
from ..page.output import Caption
from .claims import Claim, ratios, section5_claims
from .grids import grid_part
from .scorecard import LIMIT, REPRODUCIBLE, Check, checks, failures, published_spec, scorecard

RUNS_ALONE = 400
"""Runs where no grid at the published level is at hand: seconds."""

REDRAWS = 40
"""How often our values are drawn anew within their standard errors, to see which verdicts stay."""
SURE = 38
"""In how many of them a verdict must stay to be called sure."""

_VALUES = {
    ("sum", "total"): "sum",
    ("identity", "total"): "cells, total",
    ("identity", "max"): "cells, largest",
}


@dataclass(frozen=True, eq=False)
class Findings:
    """The 240 published values with ours beside.

    Parameters
    ----------
    card
        From `scorecard.scorecard`.
    """

    card: pd.DataFrame

    @property
    def runs(self) -> int:
        """How many runs our values have."""
        return int(self.card["runs"].iloc[0])

    @property
    def worst_certificate(self) -> float:
        """Of all fits behind the page."""
        return float(self.card["worst_certificate"].max())

    @cached_property
    def far(self) -> pd.DataFrame:
        """The published values that are `LIMIT` or more standard errors away."""
        return self.card[self.card["z"].abs() >= LIMIT]

    def _largest(self, methods: list[str]) -> float:
        return float(self.card.loc[self.card["method"].isin(methods), "z"].abs().max())

    @property
    def _lost(self) -> list[str]:
        return [m for m in paper_methods() if m not in REPRODUCIBLE]

    @property
    def opening(self) -> str:
        """What was found."""
        agree = len(self.card) - len(self.far)
        return (
            f"**{agree} of {len(self.card)} published values agree with ours.** Agreement means "
            f"less than {LIMIT:g} standard errors of the difference. {self.far_said}"
        )

    @property
    def far_said(self) -> str:
        """Where the others are."""
        if self.far.empty:
            return "So every published value is within reach of ours."
        counts = self.far["method"].value_counts()
        listed = " and ".join(
            f"{METHODS[m].label} ({int(counts[m])})" for m in paper_methods() if m in counts.index
        )
        return f"The others belong to {listed}."

    @property
    def pattern_said(self) -> str:
        """Which methods scatter, and why."""
        kept, lost = self._largest(list(REPRODUCIBLE)), self._largest(self._lost)
        numbers = (
            "Among OLS, NNLS and reweighted fitting the largest $|z|$ is "
            f"{format_number(kept, 2)}; among max and sequential fitting it is "
            f"{format_number(lost, 2)}."
        )
        if lost > 1.5 * kept:
            return (
                f"{numbers} The three methods of which the authors lost no run agree with "
                "ours. The two of which they kept only successful runs scatter far more."
            )
        return f"{numbers} The methods do not differ much in how well they agree."

    @property
    def picture(self) -> Caption:
        """What is said about the picture of all values."""
        kept, lost = self._largest(list(REPRODUCIBLE)), self._largest(self._lost)
        return Caption(
            f"How far each of the {len(self.card)} published values lies from ours, in standard "
            f"errors of the difference. The shaded band is {LIMIT:g} either way; {len(self.far)} "
            "of them lie outside it.",
            alt="Fifteen rows of dots, three for each of the five methods, on an axis of standard "
            "errors. The rows of OLS, NNLS and reweighted fitting stay within "
            f"{at_most(kept, 2)} of zero; max fitting and sequential fitting reach "
            f"{format_number(lost, 2)}.",
        )

    @property
    def how_said(self) -> str:
        """How the values were computed."""
        failed = int(self.card["failures"].sum())
        allowance = ", as its values are averages of as many runs"
        if self.runs != PAPER_RUNS:
            allowance = f", although its values are averages of {PAPER_RUNS:,} runs"
        return (
            f"Every method sees the same noise in each of {self.runs:,} runs. "
            f"{failures(failed).capitalize()}, and the worst optimality certificate of all fits is "
            f"{at_most(self.worst_certificate, 2)}. Each number below is a mean squared error with "
            "its standard error. The published value follows in brackets, **bold** where the two "
            f"are {LIMIT:g} or more standard errors of their difference apart. The paper prints no "
            f"standard errors with these tables; theirs are taken equal to ours{allowance}."
        )

    def side_by_side(self, query_set: str, metric: str) -> pd.DataFrame:
        """Lay out our values beside the published ones: a row a data set, a column a method."""
        rows = self.card[(self.card["query_set"] == query_set) & (self.card["metric"] == metric)]
        text = [
            f"{v:,.0f}\u00a0±\u00a0{e:,.0f} "
            + (f"**({p:,.0f})**" if abs(z) >= LIMIT else f"({p:,.0f})")
            for v, e, z, p in zip(
                rows["value"], rows["standard_error"], rows["z"], rows["published"], strict=True
            )
        ]
        wide = rows.assign(shown=text).pivot(index="dataset", columns="method", values="shown")
        labels = {m: METHODS[m].label for m in paper_methods()}
        return wide[paper_methods()].rename(columns=labels).rename_axis("data set").reset_index()

    @property
    def sum_caption(self) -> str:
        """What is said about the table of sums."""
        return (
            f"Expected squared error of the sum query (the paper's Table 1), from {self.runs:,} "
            "runs, beside the published value in brackets."
        )

    @property
    def total_caption(self) -> str:
        """What is said about the table of the cells' totals."""
        return (
            "Total expected squared error of all cells (the paper's Table 2, Total), from "
            f"{self.runs:,} runs, beside the published value in brackets."
        )

    @property
    def max_caption(self) -> str:
        """What is said about the table of the largest errors."""
        return (
            "Largest expected squared error of a cell (the paper's Table 2, Max): the largest of "
            f"the means over {self.runs:,} runs, beside the published value in brackets."
        )

    def _ols(self, real: bool) -> float:
        rows = self.card[(self.card["method"] == CONTROL) & (self.card["query_set"] == "sum")]
        return float(rows.loc[(rows["dataset"] != "Level00-2d") == real, "exact"].iloc[0])

    @property
    def ols_said(self) -> str:
        """What needs no simulation."""
        rows = self.card[(self.card["method"] == CONTROL) & (self.card["query_set"] == "sum")]
        real = rows.loc[rows["dataset"] != "Level00-2d", "published"]
        same = (
            f"All {len(real)} published OLS values of the real tables are one and the same number. "
            "So the authors' runs used the same noise for every data set. The rows of the "
            "published table are not independent, and their z scores must not be added up."
            if real.nunique() == 1
            else "The published OLS values of the real tables differ."
        )
        return (
            f"The error of the sum under OLS is exactly {format_number(self._ols(False), 6)} for "
            f"the 10 × 10 table and {format_number(self._ols(True), 6)} for the 9 × 24 tables. "
            f"This is a closed form of ours. {same}"
        )

    @property
    def max_said(self) -> str:
        """Why the largest errors are too high."""
        tops = self.card[(self.card["method"] == CONTROL) & (self.card["metric"] == "max")]
        real = tops[tops["dataset"] != "Level00-2d"]
        lowest = float(real["published"].min())
        above = (
            "and yet no printed maximum of OLS is below that"
            if lowest >= self._ols(True)
            else ("and some printed maxima of OLS lie below that")
        )
        return (
            'Both "Max" columns, the published and ours, are maxima of noisy means, so both lie '
            "above what they estimate, on average. OLS has exactly "
            f"{format_number(self._ols(True), 6)} in *every* cell of a real table, "
            f"{above}: the lowest is {format_number(lowest)}. "
            "[A chapter of its own](max_bias.ipynb) measures by how much."
        )

    @property
    def far_table(self) -> pd.DataFrame:
        """The values that do not agree; one row saying so where there is none."""
        if self.far.empty:
            return pd.DataFrame({"data set": ["none"], "method": ["–"], "value": ["–"]})
        rows = self.far.assign(size=self.far["z"].abs()).sort_values("size", ascending=False)
        return pd.DataFrame(
            {
                "data set": rows["dataset"],
                "method": [METHODS[m].label for m in rows["method"]],
                "value": [
                    _VALUES[q, m] for q, m in zip(rows["query_set"], rows["metric"], strict=True)
                ],
                "published": [format_number(p, 4) for p in rows["published"]],
                "ours": [
                    format_number(v, se=e)
                    for v, e in zip(rows["value"], rows["standard_error"], strict=True)
                ],
                "z": rows["z"],
            }
        )

    @property
    def far_caption(self) -> str:
        """What is said about them."""
        return (
            f"Every published value that is {LIMIT:g} or more standard errors of the difference "
            "from ours."
        )

    @cached_property
    def _sequential(self) -> pd.DataFrame:
        return self.card[(self.card["method"] == "sequential") & (self.card["query_set"] == "sum")]

    @property
    def sequential_picture(self) -> Caption:
        """What is said about the picture of sequential fitting's sum."""
        s = self._sequential
        ours, theirs = (
            float(((s[c] - s["exact"]).abs() / s["standard_error"]).max())
            for c in ("value", "published")
        )
        return Caption(
            "Sequential fitting's error of the sum. Exactly, it is "
            f"{format_number(s['exact'].iloc[0])} in every row. Ours lie within {at_most(ours, 2)} "
            f"of their standard errors of it; the published values lie up to "
            f"{at_most(theirs, 2)} away.",
            alt=f"For each of {len(s)} data sets a diamond with an error bar for our value, close "
            "to a vertical line at the exact value, and a cross for the published value, often "
            "well to the left or right of the line.",
        )

    @property
    def sequential_said(self) -> str:
        """The two signs that runs were selected."""
        s = self._sequential
        # Theirs are means of 1,000 runs, whatever the number of ours.
        own = s["standard_error"] * (self.runs / PAPER_RUNS) ** 0.5
        apart = (s["published"] - s["exact"]).abs() / own
        ours = float(((s["value"] - s["exact"]).abs() / s["standard_error"]).max())
        real = s.loc[s["dataset"] != "Level00-2d", "published"]
        return (
            f"The published column runs from {format_number(s['published'].min(), 4)} to "
            f"{format_number(s['published'].max(), 4)}. In {int((apart > 2).sum())} of {len(s)} "
            "rows the published value is more than two standard errors away from the exact one, "
            "where chance alone would make it about one. Ours are within "
            f"{at_most(ours, 2)}. And there is a second sign. The real tables shared their noise, "
            "which is why OLS has one value for all of them. The error of the sum under sequential "
            "fitting is made of that noise alone, so it should be one value too. The printed "
            f"column has {real.nunique()} different values, as printed with one decimal, for "
            f"{len(real)} real tables."
        )

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """What the command line checks as well."""
        return checks(self.card)

    @property
    def checks_table(self) -> pd.DataFrame:
        """The checks with their outcome."""
        return pd.DataFrame(
            {
                "check": [c.account for c in self.checks],
                "passed": ["yes" if c.passed else "NO" for c in self.checks],
            }
        )

    @property
    def checks_caption(self) -> str:
        """What is said about them."""
        return "The comparison's own checks, the same that run on the command line."

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """Claims of the paper's Section 5, in short."""
        return section5_claims(self.card)

    @cached_property
    def stays(self) -> list[int]:
        """In how many redraws of our values within their standard errors each verdict stays.

        Each value is redrawn by itself. The methods saw the same noise, so differences between
        them are surer than this says.
        """
        rng = np.random.default_rng(1)
        error = self.card["standard_error"].fillna(0.0)
        same = np.zeros(len(self.claims), dtype=int)
        for _ in range(REDRAWS):
            value = self.card["value"] + error * rng.standard_normal(len(error))
            other = section5_claims(self.card.assign(value=value))
            same += [a.holds == b.holds for a, b in zip(self.claims, other, strict=True)]
        return [int(n) for n in same]

    @property
    def verdicts(self) -> list[str]:
        """Whether our values bear each claim out, and how sure that is."""
        words = []
        for claim, stays in zip(self.claims, self.stays, strict=True):
            verdict = "yes" if claim.holds else "no"
            if stays < SURE:
                verdict = f"unsure, {verdict} here"
            words.append(f"{verdict} ({stays} of {REDRAWS})")
        return words

    def _claims(self, verdict: str) -> list[str]:
        both = zip(self.claims, self.verdicts, strict=True)
        return [c.says.rstrip(".") for c, v in both if v.startswith(verdict)]

    @property
    def claims_table(self) -> pd.DataFrame:
        """The claims beside what both sets of values show."""
        return pd.DataFrame(
            {
                "claim": [c.says for c in self.claims],
                "published values": [c.published for c in self.claims],
                "our values": [c.ours for c in self.claims],
                "borne out": self.verdicts,
            }
        )

    @property
    def claims_caption(self) -> str:
        """What is said about them."""
        return (
            "Claims of the paper's Section 5, in our words, tested on the published values and on "
            "ours. A claim about all rows is borne out if all show it, one about a tendency if at "
            "least half do. Alike, close and comparable mean within a third. In brackets: how many "
            f"of {REDRAWS} redraws of our values within their standard errors give the same "
            f"verdict. Below {SURE} it is called unsure."
        )

    @property
    def claims_said(self) -> str:
        """How many hold, and the conclusion."""
        held, unsure = len(self._claims("yes")), len(self._claims("unsure"))
        ratio = ratios(self.card, "value", "sum", "total")
        low = float(ratio[["nnls", "maxfit"]].to_numpy().min())
        high = float(ratio[["sequential", "reweighted"]].to_numpy().max())
        if low > high:
            end = (
                "The conclusion on the sum stands: NNLS and max fitting pay at least "
                f"{at_least(low)} times the error of OLS in every row, sequential and reweighted "
                f"fitting at most {at_most(high)} times."
            )
        else:
            end = "On the sum the methods overlap here, so the conclusion rests on the rows."
        said = f"Our values clearly bear out {held} of {len(self.claims)} claims. "
        if unsure:
            said += (
                f"On {unsure} they cannot decide: the verdict depends on the noise of the runs. "
            )
        return said + end

    @property
    def not_borne_out_said(self) -> str:
        """Which claims our values do not bear out."""
        refuted, unsure = self._claims("no"), self._claims("unsure")
        if not refuted and not unsure:
            return "- **Claims in prose:** our values clearly bear out all of them."
        said = "- **Claims in prose.** "
        if refuted:
            said += f"Our values do not bear out: {'; '.join(refuted)}. "
        if unsure:
            said += f"Our values cannot tell: {'; '.join(unsure)}."
        return said.strip()


def study(folder: str = "") -> Findings:
    """Put the paper's printed values beside ours, all at the published level (ours).

    Parameters
    ----------
    folder
        The grid at the published level, or ``""``: then a small one is computed.

    Raises
    ------
    InputError
        A folder that has not all the printed values.

    Examples
    --------
    >>> study().card.shape[0]
    240
    """
    return Findings(scorecard(grid_part(folder, published_spec(RUNS_ALONE)).errors))
