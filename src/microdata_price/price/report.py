"""The files that `price` writes, and the report that it prints: all confidential."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from io import BytesIO

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv as arrow_csv
from scipy.stats import norm

from ..base.numbers import format_number, rounded_up
from ..figures.price import bias_and_variance, errors_by_count, png, prices
from ..fitting import CONTROL, microdata_methods
from ..model.measurement import noise_for
from ..model.noise import Laplace
from ..model.noise_discrete import DiscreteGaussian, DoubleGeometric
from ..model.workload import Workload
from .simulation import Price

_MARK = "CONFIDENTIAL"
_PORTION = 50_000  # rows of a file that are written at once
NOTICE = f"{_MARK}: computed from the true table without protection; as confidential as the table."


def with_error(value: float, error: float) -> str:
    """Write a value as far as its standard error says that it is known, or that it is exact."""
    if error > 0:
        return format_number(value, se=error)
    return f"{format_number(value)} {'(exact)' if error == 0 else '± ?'}"


def summary(made: Price) -> pd.DataFrame:
    """Return the price of every query set and method as one table, a column a method."""
    keys = ["query_set", "metric"]
    text = map(with_error, made.totals["price"], made.totals["price_error"])
    shown = made.totals.assign(text=list(text))
    own = shown[shown["method"] == CONTROL].set_index(keys)
    wide = pd.DataFrame({"signed answers": np.sqrt(own["ols"]).map("{:.5g}".format)})
    for method in microdata_methods(shown["method"]):
        wide[method] = shown[shown["method"] == method].set_index(keys)["text"]
    return wide.reset_index().rename(columns={"query_set": "query set"})


def _biases(rows: pd.DataFrame) -> list[str]:
    """Write biases with their standard errors; only that of signed answers is known exactly."""
    return [
        "0 (exact)" if e == 0 else f"{b:+.2f} ± {e:.2f}".replace("nan", "?")
        for b, e in zip(rows["bias"], rows["bias_error"], strict=True)
    ]


def _always_text(made: Price) -> str:
    order = {name: k for k, name in enumerate(made.always["query_set"].unique())}
    rows = made.always.sort_values("query_set", key=lambda names: names.map(order), kind="stable")
    shown = {
        "query set": rows["query_set"],
        "": np.where(rows["asked"], "asked", "not asked"),
        "method": rows["method"],
        "root error": list(map(with_error, rows["root_error"], rows["standard_error"])),
        "largest bias": _biases(rows),
        "of": rows["query"],
    }
    return pd.DataFrame(shown).to_string(index=False)


def _worst_text(made: Price) -> str:
    worst = made.worst()
    if worst.empty:
        return "(only signed answers were asked for)"
    shown = {
        "method": worst["method"],
        "query": worst["query"],
        "true count": worst["truth"].astype(int),
        "bias": _biases(worst),
        "root error": np.sqrt(worst["squared_error"]).map("{:.2f}".format),
        "signed": np.sqrt(worst["ols"]).map("{:.2f}".format),
        "price": list(map(with_error, worst["price"], worst["price_error"])),
    }
    return pd.DataFrame(shown).to_string(index=False)


def report(made: Price, workload: Workload) -> str:
    """Return everything worth reading as plain text, the notice first."""
    columns = made.totals["price_error"], made.always["standard_error"], made.always["bias_error"]
    count = max(sum(int((column > 0).sum()) for column in columns), 1)
    one, every = (norm.isf(0.025 / k) for k in (1, count))
    noise = noise_for(workload, made.guarantee, made.split)
    whole = [
        DoubleGeometric(1 / z.scale) if isinstance(z, Laplace) else DiscreteGaussian(z.std**2)
        for z in noise
    ]
    apart = max(abs(w.variance / z.variance - 1) for w, z in zip(whole, noise, strict=True))
    return f"""{NOTICE}

What would requiring microdata cost on this table, at {made.guarantee.describe()}?
From {made.runs} simulated runs of the paper's mechanism; ± is a standard error.

Root expected squared error: of signed answers (least squares, exact, in records), then
of each method as a multiple of it, its price. Above 1 microdata cost accuracy, below 1
they gain it. "total" adds up the squared errors of the query set, "max" is its worst
query (a maximum of estimates: too large on average).

{summary(made).to_string(index=False)}

The total and each column by itself, asked or not (in records)

{_always_text(made)}

± is one standard error of the simulation (? where the runs do not tell it; of the plain mean
where few runs differ from signed answers, even if all gave 1). An interval of 95 % for one is
{one:.2f} of them to each side; for all {count} of the two tables at once {every:.2f} (Bonferroni).

The worst queries of each method (bias and root errors in records)

{_worst_text(made)}

The simulation draws Laplace or Gaussian noise; a release's is whole, and its variance differs
by at most {rounded_up(100 * apart, 2):g} %.
Looking at these numbers before choosing a method or a level uses the true table: what
is chosen that way is not covered by the release's guarantee.
"""


def _csv(frame: pd.DataFrame, header: bool = True) -> bytes:
    table, out = pa.Table.from_pandas(frame.assign(notice=_MARK), preserve_index=False), BytesIO()
    arrow_csv.write_csv(table, out, arrow_csv.WriteOptions(include_header=header))
    return out.getvalue()


def _all_queries(made: Price) -> Iterator[bytes]:
    """Write every query of every method in portions: a whole file of them fills the memory."""
    for method, start in itertools.product(made.found, range(0, made.ols.size, _PORTION)):
        first = start == 0 and method == next(iter(made.found))
        yield _csv(made.of(method, slice(start, start + _PORTION)), first)


def _drawn(made: Price, method: str, rows: slice) -> pd.DataFrame:
    """Return a set's queries for a picture: of those that fall on one place one is enough."""
    told = {"truth": made.truth[rows], "squared_error": made.found[method][2, rows]}
    top = told["squared_error"].max() or 1.0
    place = [100 * np.arcsinh(told["truth"]), 400 * np.sqrt(told["squared_error"] / top)]
    first = ~pd.DataFrame(np.rint(place).T).duplicated()
    return pd.DataFrame({"method": method, **told, "ols": made.ols[rows]})[first]


def price_files(made: Price, workload: Workload) -> dict[str, Iterable[bytes]]:
    """Return portions of all files: report, four CSV files and, for microdata, three pictures."""
    files: dict[str, Iterable[bytes]] = {
        "README.txt": [report(made, workload).encode()],
        "prices.csv": [_csv(made.totals)],
        "queries.csv": _all_queries(made),
        "total_and_columns.csv": [_csv(made.always)],
        "worst_queries.csv": [_csv(made.worst())],
    }
    totals = made.totals[made.totals["metric"] == "total"]
    if microdata_methods(totals["method"]):
        sizes = [q.size for q in workload.query_sets]
        title, at = workload.names[sizes.index(max(sizes))], sum(sizes[: sizes.index(max(sizes))])
        cells = pd.concat([_drawn(made, m, slice(at, at + max(sizes))) for m in made.found])
        files["prices.png"] = [png(prices(totals, _MARK))]
        files["bias_and_variance.png"] = [png(bias_and_variance(totals, _MARK))]
        files["errors_by_count.png"] = [png(errors_by_count(cells, f"{_MARK} ({title})"))]
    return files
