"""One method on the small list and on a table of the benchmark: what its chapter begins with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import Mean, at_most, format_number
from ..fitting import METHODS, Fit, fit
from ..model.benchmark import data_set
from ..model.privacy import ConcentratedDP, PureDP, level_of
from ..page.output import Caption
from .anatomy import Balance, balance, set_errors, worst_cells
from .cases import LABELS, Case, bench_case, short_case

Array = NDArray[np.float64]


def percent(share: float) -> str:
    """Write a share in percent.

    Examples
    --------
    >>> percent(0.5)
    '50 %'
    """
    return f"{format_number(100 * share)} %"


def worst_table(worst: pd.DataFrame) -> pd.DataFrame:
    """Write the cells of `anatomy.worst_cells` as a table.

    Examples
    --------
    >>> row = {"truth": 5.0, "bias": -1.0, "bias error": 0.1, "error": 4.0}
    >>> table = worst_table(pd.DataFrame([row | {"standard error": 0.2, "zero": 0.5}]))
    >>> [str(cell) for cell in table.iloc[0]]
    ['5.0', '−1 ± 0.10', '4 ± 0.20', '50 %']
    """

    def means(value: str, error: str) -> list[str]:
        return [format_number(v, se=e) for v, e in zip(worst[value], worst[error], strict=True)]

    return pd.DataFrame(
        {
            "true count": worst["truth"],
            "mean error": means("bias", "bias error"),
            "squared error": means("error", "standard error"),
            "comes out as 0": [percent(z) for z in worst["zero"]],
        }
    )


class CertificateWords(NamedTuple):
    """The worst of each part of a certificate, rounded up, relative to the problem's scale."""

    primal: str
    dual: str
    gap: str

    @property
    def constraints(self) -> str:
        """How well the constraints hold, in words.

        Examples
        --------
        >>> CertificateWords("0", "0", "0").constraints
        'no constraint is violated'
        """
        if self.primal == "0":
            return "no constraint is violated"
        return f"constraints are violated by at most {self.primal}"


@dataclass(frozen=True, eq=False)
class OneMethod:
    """A method's fits of a small list and of a table, and what any chapter says of them.

    Parameters
    ----------
    guarantee
        The level.
    dataset
        The table's name.
    short, case
        The small list, measured once, and the table, measured in many runs.
    short_fit, fitted
        The method's fits.
    nnls
        NNLS on the same noisy answers of the table.
    seed
        Of the noise.
    """

    method: ClassVar[str] = "nnls"

    guarantee: PureDP | ConcentratedDP
    dataset: str
    short: Case
    case: Case
    short_fit: Fit
    fitted: Fit
    nnls: Fit
    seed: int

    @classmethod
    def study(
        cls,
        dataset: str = "PUMA1304600",
        privacy: str = "pure",
        epsilon: float = 0.5,
        rho: float = 0.125,
        runs: int = 1000,
        seed: int = 1,
    ) -> Self:
        """Measure the small list and a table of the benchmark, and fit both by the method.

        Parameters
        ----------
        dataset
            A table of the benchmark.
        privacy
            ``"pure"`` or ``"zcdp"``.
        epsilon, rho
            The level of the one and of the other.
        runs
            Repetitions of the whole release, 2 or more.
        seed
            Of the noise.

        Raises
        ------
        InputError
            An unknown table or kind of privacy, a level out of range, or a single run.

        Examples
        --------
        >>> OneMethod.study("Level00-1d", runs=3).fitted.cells.shape
        (3, 100)
        """
        guarantee = level_of(privacy, rho if privacy == ConcentratedDP.kind else epsilon)
        short = short_case(guarantee, seed=seed)
        _, case = bench_case(dataset, guarantee, runs=runs, seed=seed)
        fitted = fit(case.measurements, cls.method)
        nnls = fitted if cls.method == "nnls" else fit(case.measurements, "nnls")
        small = fit(short.measurements, cls.method)
        given = (guarantee, dataset, short, case, small, fitted, nnls, seed)
        return cls(*given, *cls._own(OneMethod(*given)))

    @classmethod
    def _own(cls, given: OneMethod) -> tuple[Any, ...]:
        """Return what a chapter adds."""
        del given
        return ()

    @property
    def runs(self) -> int:
        """How many times the table is measured."""
        return self.case.measurements.runs

    @property
    def _where(self) -> str:
        real = "the real table" if data_set(self.dataset).family == "pums" else "the table"
        return f"{real} `{self.dataset}` under {self.guarantee.describe(math=True)}"

    @property
    def small(self) -> tuple[Array, tuple[float, Array], tuple[float, Array]]:
        """The small list: true cells, then noisy and fitted sum and cells, in counts."""
        noisy, cells = self.short.measurements.answers, self.short_fit.cells[0]
        return self.short.truth, (float(noisy[0][0, 0]), noisy[1][0]), (float(cells.sum()), cells)

    @property
    def one_run(self) -> tuple[Array, Array, NDArray[np.bool_], float]:
        """The table in the first run: noisy and fitted cells, which are empty, the noise's size."""
        case = self.case
        return case.noisy_cells[0], self.fitted.cells[0], case.empty, case.noise.std

    @cached_property
    def parts(self) -> Balance:
        """Where the records go."""
        return balance(self.case, self.fitted.cells)

    @property
    def bias(self) -> Mean:
        """Of the sum, in counts."""
        return self.parts.total

    @cached_property
    def _frames(self) -> dict[str, pd.DataFrame]:
        fits = {f.method: f for f in (self.fitted, self.nnls)}
        frame = set_errors(self.case, list(fits.values())).set_index("query set")
        return {m: frame[frame["method"] == m].drop(columns="method") for m in fits}

    @property
    def frame(self) -> pd.DataFrame:
        """The errors of each query set."""
        return self._frames[self.method]

    @property
    def of_sum(self) -> dict[str, float]:
        """The errors of the sum."""
        return {str(k): float(v.loc["sum"]) for k, v in self.frame.items()}

    def _mean(self, value: str, error: str, query_set: str, method: str) -> Mean:
        frame = self._frames[method or self.method]
        return Mean(float(frame[value].loc[query_set]), float(frame[error].loc[query_set]))

    def error(self, query_set: str = "sum", method: str = "") -> Mean:
        """Return a query set's total squared error, in squared counts."""
        return self._mean("error", "standard error", query_set, method)

    def ratio(self, query_set: str = "sum", method: str = "") -> Mean:
        """Return a query set's total squared error over OLS's exact one."""
        return self._mean("ratio", "ratio error", query_set, method)

    @property
    def errors(self) -> pd.DataFrame:
        """The errors of each query set as text, beside those of NNLS."""
        sets, own = self.case.workload.names, self.method
        columns = {"query set": [LABELS[q] for q in sets]}
        columns["squared error"] = [str(self.error(q)) for q in sets]
        if own != "nnls":
            columns["with NNLS"] = [str(self.error(q, "nnls")) for q in sets]
        columns["over OLS"] = [str(self.ratio(q)) for q in sets]
        return pd.DataFrame(columns)

    @property
    def errors_caption(self) -> str:
        """What is said about the table of errors."""
        said = f"{METHODS[self.method].title} over {self.runs:,} runs"
        if self.method != "nnls":
            said += ", that of NNLS on the same noise"
        return f"Total expected squared error of {said}, and the first over OLS's exact one."

    @cached_property
    def worst(self) -> pd.DataFrame:
        """The cells with the largest squared error."""
        return worst_cells(self.case, self.fitted)

    @property
    def worst_table(self) -> pd.DataFrame:
        """These cells as text."""
        return worst_table(self.worst)

    @property
    def worst_caption(self) -> str:
        """What is said about them."""
        top = worst_cells(self.case, self.nnls, 1).iloc[0]
        largest = format_number(top["error"], se=top["standard error"])
        return (
            "The five cells with the largest squared error under "
            f"{METHODS[self.method].title}, over {self.runs:,} runs. The largest of all cells "
            f"under NNLS is {largest}."
        )

    @property
    def balance_picture(self) -> Caption:
        """What is said about where the records go."""
        p = self.parts
        # Empty and other cells have independent noise.
        sampled = Mean(
            p.clipped_empty.value + p.clipped_full.value,
            float(np.hypot(p.clipped_empty.error, p.clipped_full.error)),
        )
        return Caption(
            f"Where the records go, on average over {self.runs:,} runs. Clipping alone would add "
            f"{sampled} records to the sum (exactly "
            f"{format_number(p.exact_empty + p.exact_full)}). After "
            f"{METHODS[self.method].title} the sum is {p.total} records off.",
            alt="A waterfall of bars: what clipping adds in empty cells and in others, what the "
            "fit then changes in either, and the error of the sum that remains, "
            f"{format_number(p.total.value, 2)} records.",
        )

    @property
    def _certified(self) -> CertificateWords:
        c = self.fitted.certificate
        return CertificateWords(*(at_most(float(v.max()), 2) for v in (c.primal, c.dual, c.gap)))
