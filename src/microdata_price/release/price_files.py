"""The files that `price` writes; each says at its top that it is confidential."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import norm

from ..base.numbers import format_number
from ..exceptions import InputError
from ..figures.price import bias_and_variance, errors_by_count, prices
from ..fitting import CONTROL, microdata_methods
from ..model.measurement import noise_for
from ..model.workload import Workload
from .mechanism import mechanism_for
from .price import Price

NOTICE = (
    "CONFIDENTIAL: computed from the true table without protection; as confidential as the table."
)
"""What stands at the top of everything."""
_MARK = "CONFIDENTIAL"


def _with_error(value: float, error: float) -> str:
    """Write a price as far as its standard error says that it is known, or that it is exact."""
    if not error > 0:
        return f"{format_number(value)} (exact)"
    if error < 1e-6 * value:
        return f"{value:#.4g} ± {error:.1g}"
    return format_number(value, se=error)


def summary(made: Price) -> pd.DataFrame:
    """Return the price of every query set and method as one table, a column a method.

    Parameters
    ----------
    made
        What `price_table` returned.
    """
    shown = made.totals[made.totals["method"].isin(microdata_methods())].copy()
    shown["text"] = [
        _with_error(p, e) for p, e in zip(shown["price"], shown["price_error"], strict=True)
    ]
    own = made.totals[made.totals["method"] == CONTROL].set_index(["query_set", "metric"])
    wide = own[["ols"]].map("{:.5g}".format).rename(columns={"ols": "signed answers"})
    for method, part in shown.groupby("method", sort=False):
        wide[str(method)] = part.set_index(["query_set", "metric"])["text"]
    return wide.reset_index().rename(columns={"query_set": "query set"})


def _biases(rows: pd.DataFrame) -> list[str]:
    """Write biases with their standard errors; only that of signed answers is known exactly."""
    return [
        "0 (exact)" if m == CONTROL and e == 0 else f"{b:+.2f} ± {e:.2f}"
        for m, b, e in zip(rows["method"], rows["bias"], rows["bias_error"], strict=True)
    ]


def _always_text(made: Price) -> str:
    order = made.always["query_set"].drop_duplicates().tolist()
    rows = made.always.sort_values("query_set", key=lambda s: s.map(order.index), kind="stable")
    shown = pd.DataFrame(
        {
            "query set": rows["query_set"],
            "": np.where(rows["asked"], "asked", "not asked"),
            "method": rows["method"],
            "root error": [
                _with_error(v, e)
                for v, e in zip(rows["root_error"], rows["standard_error"], strict=True)
            ],
            "largest bias": _biases(rows),
            "of": rows["query"],
        }
    )
    return shown.to_string(index=False)


def report(made: Price, workload: Workload) -> str:
    """Return everything worth reading as plain text, the notice first."""
    lines = [
        NOTICE,
        "",
        f"What would requiring microdata cost on this table, at {made.guarantee.describe()}?",
        f"From {made.runs} simulated runs of the paper's mechanism; ± is a standard error.",
        "",
        "Expected squared error: of signed answers (least squares, exact, in squared records),",
        "then of each method as a multiple of it. Above 1 microdata cost accuracy, below 1 they",
        'gain it. "total" adds up the query set, "max" is its worst query (a maximum of',
        "estimates: too large on average).",
        "",
        summary(made).to_string(index=False),
        "",
        "The total and each column by itself, asked or not (in records)",
        "",
        _always_text(made),
        "",
        _intervals(made),
        "",
        "The worst queries of each method (bias and root errors in records)",
        "",
        _worst_text(made),
    ]
    lines += [
        "",
        f"The simulation draws Laplace or Gaussian noise.{_real_noise(made, workload)}",
        "Looking at these numbers before choosing a method or a level uses the true table: what",
        "is chosen that way is not covered by the release's guarantee.",
    ]
    return "\n".join(lines) + "\n"


def _intervals(made: Price) -> str:
    """Say how wide intervals are that hold one by one, and all at once."""
    columns = made.totals["price_error"], made.always["standard_error"], made.always["bias_error"]
    shown = sum(int((column > 0).sum()) for column in columns)
    count = max(shown, 1)
    one, every = (norm.isf(0.025 / k) for k in (1, count))
    return (
        "± is one standard error of the simulation. An interval of 95 % for one number by itself\n"
        f"is {one:.2f} of them to each side; for all {count} numbers of the two tables above\n"
        f"at once, {every:.2f} of them (Bonferroni)."
    )


def _real_noise(made: Price, workload: Workload) -> str:
    try:
        variance = mechanism_for(workload, made.guarantee).variances[0]
    except InputError:  # A level at which nothing can be released.
        return ""
    if made.split is not None:
        return ""
    simulated = noise_for(workload, made.guarantee)[0].variance
    return f" A real release's is whole: variance {variance:.6g} instead of {simulated:.6g}."


def _worst_text(made: Price) -> str:
    worst = made.worst()
    if worst.empty:
        return "(only signed answers were asked for)"
    shown = pd.DataFrame(
        {
            "method": worst["method"],
            "query": worst["query"],
            "true count": worst["truth"].astype(int),
            "bias": _biases(worst),
            "root error": np.sqrt(worst["squared_error"]).map("{:.2f}".format),
            "signed": np.sqrt(worst["ols"]).map("{:.2f}".format),
            "price": [
                _with_error(p, e) for p, e in zip(worst["price"], worst["price_error"], strict=True)
            ],
        }
    )
    return shown.to_string(index=False)


def _marked_csv(frame: pd.DataFrame) -> bytes:
    return f"# {NOTICE}\n{frame.to_csv(index=False)}".encode()


def _png(figure: Figure) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=160, bbox_inches="tight")
    return out.getvalue()


def price_files(made: Price, workload: Workload) -> dict[str, bytes]:
    """Return all files by name.

    Parameters
    ----------
    made
        What `price_table` returned.
    workload
        What was asked.
    """
    files = {
        "README.txt": report(made, workload).encode(),
        "prices.csv": _marked_csv(made.totals),
        "queries.csv": _marked_csv(made.queries),
        "total_and_columns.csv": _marked_csv(made.always),
        "worst_queries.csv": _marked_csv(made.worst()),
    }
    totals = made.totals[made.totals["metric"] == "total"]
    if microdata_methods(totals["method"]):
        finest = workload.query_sets[int(np.argmax([q.size for q in workload.query_sets]))].name
        cells = made.queries[made.queries["query_set"] == finest]
        files["prices.png"] = _png(prices(totals, _MARK))
        files["bias_and_variance.png"] = _png(bias_and_variance(totals, _MARK))
        files["errors_by_count.png"] = _png(errors_by_count(cells, f"{_MARK} ({finest})"))
    return files
