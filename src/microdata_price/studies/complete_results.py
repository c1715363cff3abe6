"""The page of complete results: an overview, one experiment's tables, all others, one file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from ..base.numbers import at_most, format_number, listed
from ..exceptions import InputError, unknown_name
from ..fitting import METHODS, microdata_methods, paper_methods
from ..grid.spec import GridSpec
from ..model.benchmark import FAMILIES, data_set
from ..model.measurement import noise_for
from ..model.noise import Noise
from ..page.output import Caption
from .experiments import (
    BEYOND,
    QUERY_NAMES,
    Experiment,
    exact_sentence,
    experiments,
    priced,
    result_table,
)
from .grids import RUNS_ALONE, grid_part

METRICS = {"total": "total over the set", "max": "the worst query"}
_TOO_HIGH = "[Why a maximum is too high](max_bias.ipynb)."
_SEEN = {"sum": "total", "identity": "max"}
"""What the overview shows: the sum, and the worst of the cells."""

COLUMNS = (
    "dataset",
    "family",
    "privacy",
    "level",
    "method",
    "query_set",
    "metric",
    "value",
    "standard_error",
    "exact",
    "ols",
    "estimate_cv",
    "se_cv",
    "max_split",
    "se_split",
    "runs",
)
"""Columns of the file for readers; ``exact`` and ``ols`` are computed without simulation."""


def tidy_csv(found: pd.DataFrame) -> str:
    """Write a grid's priced errors as text with six digits, a row a value.

    Examples
    --------
    >>> row = dict.fromkeys(COLUMNS, 1 / 3)
    >>> tidy_csv(pd.DataFrame([row])).splitlines()[1][:9]
    '0.333333,'
    """
    return found[list(COLUMNS)].to_csv(index=False, float_format="%.6g", lineterminator="\n")


@dataclass(frozen=True, eq=False)
class Part:
    """One experiment of the page.

    Parameters
    ----------
    number
        From 1, in the order of the paper's supplement.
    experiment
        Which.
    rows
        Its rows of `experiments.priced`.
    """

    number: int
    experiment: Experiment
    rows: pd.DataFrame

    @property
    def name(self) -> str:
        """The name of its figure in links."""
        return f"results-{self.experiment.slug}-figure"

    @property
    def title(self) -> str:
        """Its number, family and level."""
        return self._titled(self.experiment.guarantee.math)

    @property
    def link(self) -> str:
        """A link to its figure; the words of links have no mathematics."""
        return f"[{self._titled(self.experiment.guarantee.plain)}](#{self.name})"

    def _titled(self, level: str) -> str:
        family = FAMILIES[self.experiment.family].title
        return f"Experiment {self.number}: {family[0].lower()}{family[1:]}, {level}"

    @property
    def query_sets(self) -> list[str]:
        """Its query sets in their order."""
        return [name for name in QUERY_NAMES if self.rows["query_set"].eq(name).any()]

    def table_name(self, query_set: str, metric: str) -> str:
        """Return the name of one of its tables in links."""
        return f"results-{self.experiment.slug}-{query_set}-{metric}"

    @property
    def tables(self) -> list[tuple[pd.DataFrame, str, str]]:
        """Its tables with their names and captions."""
        made = []
        for query_set in self.query_sets:
            for metric in METRICS:
                own = self.rows["query_set"].eq(query_set) & self.rows["metric"].eq(metric)
                if own.any():
                    frame = result_table(self.rows, query_set, metric)
                    caption = self._caption(query_set, metric)
                    made.append((frame, self.table_name(query_set, metric), caption))
        return made

    def _caption(self, query_set: str, metric: str) -> str:
        what = f"{QUERY_NAMES[query_set]}, {METRICS[metric]}"
        if query_set == "sum":
            what = "sum query"
        written = (
            f"{self.title}. {what[0].upper()}{what[1:]}: expected squared error ± standard error. "
            f"{exact_sentence(self.rows, query_set, metric)}"
        )
        return f"{written} {_TOO_HIGH}" if metric == "max" else written

    @property
    def glance(self) -> Caption:
        """What its figure shows."""
        micro = self.rows[self.rows["method"].isin(microdata_methods())]
        count = micro["dataset"].nunique()
        said = []
        for query_set, metric in _SEEN.items():
            own = micro[micro["query_set"].eq(query_set) & micro["metric"].eq(metric)]
            counts = own.groupby("method", sort=False)["beyond"].sum()
            told = [f"{METHODS[str(m)].title} ({n} of {count})" for m, n in counts.items() if n]
            said.append(", ".join(told) or "no method")
        dear = micro[micro["query_set"].eq("sum")].sort_values("price").iloc[-1]
        text = (
            f"{self.title}. Beyond {BEYOND:g} times OLS on the sum: {said[0]}; on the worst cell: "
            f"{said[1]}. The largest price of the sum is {_priced(dear)}: "
            f"{METHODS[dear['method']].title} on {dear['dataset']}. Bars are two standard errors."
        )
        return Caption(
            text,
            alt=f"Dots for each method in each of {count} data sets, a panel a kind of value, on "
            "logarithmic axes of the squared error over that of OLS. On the sum these go beyond "
            f"{BEYOND:g} times OLS: {said[0]}; on the worst cell: {said[1]}.",
        )


@dataclass(frozen=True, eq=False)
class Findings:
    """All values of a grid, and the experiment whose tables are open.

    Parameters
    ----------
    values
        From `experiments.priced`: one row a value.
    chosen
        The experiment whose tables are open.
    """

    values: pd.DataFrame
    chosen: Part

    @cached_property
    def parts(self) -> list[Part]:
        """All experiments in the order of the paper's supplement."""
        return _parts(self.values)

    def rest(self, family: str) -> list[Part]:
        """Return the experiments of a family that are not open."""
        own = [p for p in self.parts if p.experiment.family == family]
        return [p for p in own if p.number != self.chosen.number]

    @property
    def worst_certificate(self) -> float:
        """Of the grid's fits."""
        return float(self.values["worst_certificate"].max())

    def csv(self) -> str:
        """Return all values as a file."""
        return tidy_csv(self.values)

    def csv_label(self) -> str:
        """Return the words of the link to that file."""
        return f"Download all {len(self.values):,} values as one tidy table"

    @property
    def noise(self) -> Noise:
        """The noise on each answer of a list, at the first level of the page."""
        guarantee = self.parts[0].experiment.guarantee
        return noise_for(data_set("Level00-1d").workload, guarantee)[0]

    def exact(self, dataset: str, method: str, query_set: str) -> float:
        """Return an exact total error on a list at the first level of the page, squared records."""
        v = self.parts[0].rows
        own = v[v["dataset"].eq(dataset) & v["method"].eq(method) & v["metric"].eq("total")]
        return float(own.set_index("query_set")["exact"][query_set])

    @cached_property
    def standing(self) -> pd.DataFrame:
        """How often each method is best and how often beyond, a row a kind of value."""
        return standing(self.values)

    def _on(self, query_set: str) -> pd.DataFrame:
        s = self.standing
        own = s["query_set"].eq(query_set) & s["metric"].eq(_SEEN[query_set])
        return s[own].set_index("method")

    def _beyond(self, query_set: str) -> str:
        beyond = self._on(query_set)["beyond"]
        return listed([f"{METHODS[str(m)].title} in {int(n)}" for m, n in beyond.items()])

    @property
    def opening(self) -> str:
        """Who is best on the sum, and who is beyond twice OLS."""
        own = self._on("sum")
        most, pairs = int(own["best"].max()), int(own["pairs"].iloc[0])
        best = [METHODS[str(m)].title for m in own.index[own["best"] == most]]
        who = f"{best[0]} has" if len(best) == 1 else f"{' and '.join(best)} have"
        return (
            f"**On the sum, {who} the smallest error most often: in {most} of {pairs} pairs of "
            "data set and level.** The error of the sum is beyond "
            f"{BEYOND:g} times that of OLS for {self._beyond('sum')} of these pairs; that of the "
            "worst cell for "
            f"{self._beyond('identity')}."
        )

    @property
    def overview(self) -> Caption:
        """What the small multiples show."""
        v = self.values
        shown = v[v["method"].isin(microdata_methods()) & v["query_set"].isin(_SEEN)]
        shown = shown[shown["metric"].eq(shown["query_set"].map(_SEEN))]
        dear = shown.sort_values("price").iloc[-1]
        which = {"sum": "sum", "identity": "worst cell"}[str(dear["query_set"])]
        count = len(self.parts)
        many = f"All {count} experiments" if count > 1 else "The one experiment"
        return Caption(
            f"{many}: squared error over that of OLS, of the sum (filled) and of the worst "
            "cell (hollow). A mark is the median over the data sets, a line reaches from the "
            f"smallest to the largest. The largest of all is {_priced(dear)}: "
            f"{METHODS[dear['method']].title} on {dear['dataset']}, {which}.",
            alt=f"Small panels, {count} in number, on one logarithmic axis: a row a "
            "level of privacy, a column a family. Each has two lines a method, for the sum and for "
            f"the worst cell. Vertical lines stand at OLS and at {BEYOND:g} times OLS. "
            f"The error of the sum is beyond {BEYOND:g} times that of OLS for "
            f"{self._beyond('sum')} of {int(self._on('sum')['pairs'].iloc[0])} pairs of data set "
            "and level.",
        )

    @property
    def about_said(self) -> str:
        """How many values there are and how sure they are."""
        v = self.values
        relative = 100 * (v["standard_error"] / v["value"]).dropna()
        sure = ""
        if not relative.empty:
            low, high = relative.quantile(0.05), relative.quantile(0.95)
            sure = (
                f" (nine in ten standard errors are {format_number(float(low), 2)} to "
                f"{format_number(float(high), 2)} % of their value)"
            )
        runs, failed = int(v["runs"].min()), int(v["failures"].max())
        left = "No run is left out" if failed == 0 else f"Up to {failed} runs of a fit failed"
        return (
            f"The {len(self.parts)} experiments of this page, each a family of data sets at one "
            f"level of privacy, have {len(v):,} values. Each is the mean squared error of "
            f"{runs:,} runs with its standard error{sure}. Within one data set and level all "
            f"methods see the same noise. {left}, and every fit carries a certificate of "
            f"optimality; the worst is {at_most(self.worst_certificate)}."
        )

    @property
    def index(self) -> pd.DataFrame:
        """Links to every experiment and every query set of it."""
        rows = []
        for part in self.parts:
            links = {
                word: f"[{word}](#{part.table_name(name, 'total')})"
                for name, word in QUERY_NAMES.items()
                if name in part.query_sets
            }
            rows.append({"experiment": part.link, **links})
        return pd.DataFrame(rows).fillna("–")

    @property
    def index_caption(self) -> str:
        """What is said about the index."""
        return "Where each experiment's picture and tables are; a link opens what is folded."

    @property
    def standing_table(self) -> pd.DataFrame:
        """The standing of the methods for readers."""
        return standing_table(self.standing)

    @property
    def standing_caption(self) -> str:
        """What is said about that table."""
        return (
            "The median over all data sets and levels of a method's error over OLS's; in "
            "parentheses, in how many pairs of data set and level it is the smallest of these "
            f"(ties count for each) and, after the ▲, in how many it is beyond {BEYOND:g} "
            "times OLS."
        )

    def sharper(self) -> pd.Series:
        """Return, by method, the median of plain over sharpened standard error of the sum."""
        v = self.values
        sums = v[
            v["query_set"].eq("sum") & v["method"].isin(microdata_methods()) & v["se_cv"].gt(0)
        ]
        return (sums["standard_error"] / sums["se_cv"]).groupby(sums["method"], sort=False).median()


def _priced(row: pd.Series) -> str:
    error = float(row["price_error"])
    return format_number(float(row["price"]), se=error if math.isfinite(error) else None)


def standing(found: pd.DataFrame) -> pd.DataFrame:
    """Count, for each method and kind of value, how often it is best and how often beyond.

    Parameters
    ----------
    found
        From `experiments.priced`.

    Returns
    -------
    DataFrame
        One row a method that makes microdata and kind of value, with ``pairs``, ``best``,
        ``beyond``, and the median ``price``.
    """
    micro = found[found["method"].isin(microdata_methods())]
    grouped = micro.groupby(["query_set", "metric", "method"], sort=False)
    table = grouped.agg(
        pairs=("best", "size"),
        best=("best", "sum"),
        beyond=("beyond", "sum"),
        price=("price", "median"),
    )
    return table.reset_index()


def standing_table(counts: pd.DataFrame) -> pd.DataFrame:
    """Lay `standing` out for readers: a row a kind of value, a column a method.

    Parameters
    ----------
    counts
        From `standing`.

    Returns
    -------
    DataFrame
        Texts such as ``"2.5 (14, ▲ 105)"``: the median price, how often it is the smallest, how
        often beyond.

    Examples
    --------
    >>> counts = pd.DataFrame({"query_set": ["sum"], "metric": ["total"], "method": ["nnls"],
    ...     "pairs": [6], "best": [1], "beyond": [4], "price": [2.531]})
    >>> standing_table(counts).to_dict("records")
    [{'value': 'sum', 'pairs': 6, 'NNLS': '2.53 (1, ▲ 4)'}]
    """
    rows = []
    for query_set, name in QUERY_NAMES.items():
        for metric in METRICS:
            own = counts[counts["query_set"].eq(query_set) & counts["metric"].eq(metric)]
            if own.empty:
                continue
            kind = {"total": "total", "max": "worst"}[metric]
            texts = {
                METHODS[str(method)].label: (
                    f"{format_number(float(price))} ({best}, {'▲ ' if beyond else ''}{beyond})"
                )
                for method, price, best, beyond in zip(
                    own["method"], own["price"], own["best"], own["beyond"], strict=True
                )
            }
            value = name if query_set == "sum" else f"{name}, {kind}"
            rows.append({"value": value, "pairs": int(own["pairs"].iloc[0]), **texts})
    return pd.DataFrame(rows)


def _parts(values: pd.DataFrame) -> list[Part]:
    return [Part(n, e, e.rows(values)) for n, e in enumerate(experiments(values), 1)]


def _choose(parts: list[Part], family: str, privacy: str, strength: float | None) -> Part:
    if family not in FAMILIES:
        raise unknown_name("family", family, tuple(FAMILIES))
    own = [p for p in parts if p.experiment.family == family]
    of_kind = [p for p in own if p.experiment.privacy == privacy]
    if strength is None and of_kind:
        return of_kind[len(of_kind) // 2]
    for part in of_kind:
        if part.experiment.level == strength:
            return part
    there = ", ".join(f"{p.experiment.privacy} {p.experiment.level:g}" for p in own)
    raise InputError(
        f"the experiment to open is {privacy!r} at strength {strength}; the grid has: {there}"
    )


def study(
    folder: str = "",
    family: str = "pums",
    privacy: str = "pure",
    strength: float | None = None,
    *,
    epsilon: float = 0.5,
    rho: float = 0.125,
) -> Findings:
    r"""Read a finished grid, or compute one at a level of each kind; choose what is open (ours).

    Parameters
    ----------
    folder
        A finished grid, or ``""``.
    family
        One of `benchmark.FAMILIES`.
    privacy
        ``"pure"`` or ``"zcdp"``.
    strength
        A level of the grid; None for the middle one of that kind.
    epsilon, rho
        The levels that are computed where there is no folder.

    Raises
    ------
    InputError
        A folder that is no finished grid, or an experiment that the grid does not have.

    Examples
    --------
    >>> found = study(family="1d", privacy="zcdp")
    >>> found.chosen.title
    'Experiment 4: lists of 100 cells, $\\rho = 0.125$'
    >>> len(found.parts), len(found.rest("1d"))
    (6, 1)
    """
    spec = GridSpec.choose(epsilon=[epsilon], rho=[rho], runs=RUNS_ALONE)
    errors = grid_part(folder, spec).errors
    values = priced(errors[errors["method"].isin(paper_methods())])
    return Findings(values, _choose(_parts(values), family, privacy, strength))
