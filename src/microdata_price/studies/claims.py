"""What the paper's Section 5 says of its Tables 1 and 2, tested sentence by sentence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..base.numbers import at_most
from ..fitting import CONTROL
from ..model.benchmark import data_set
from ..model.measurement import noise_for
from ..model.privacy import PureDP
from .scorecard import EPSILON

_FOUR_TO_FIVE = (4.0, 5.0)
_TWO_TO_SIX = (0.02, 0.06)
_CLOSE = (0.75, 4 / 3)
_PRINTED = (
    ("sum", "total", "the sum"),
    ("identity", "total", "the cells' total"),
    ("identity", "max", "the worst cell"),
)


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, beside what the published and our values say of it.

    Parameters
    ----------
    says
        The claim, in short.
    published
        What the paper's own printed values show; a dash where they cannot tell.
    ours
        What our values show.
    holds
        Whether our values bear the claim out.
    """

    says: str
    published: str
    ours: str
    holds: bool


def ratios(card: pd.DataFrame, column: str, query_set: str, metric: str) -> pd.DataFrame:
    """Return each method's error over OLS's, one row a data set and one column a method (ours).

    Parameters
    ----------
    card
        From `scorecard.scorecard`.
    column
        ``"published"`` or ``"value"``; ours is divided by OLS's exact error, not its estimate.
    query_set, metric
        Which of the printed values.

    Examples
    --------
    >>> card = pd.DataFrame({"dataset": ["A", "A"], "method": ["ols", "nnls"], "exact": [2.0, None],
    ...     "query_set": "sum", "metric": "total", "published": [2.0, 9.0], "value": [2.1, 8.0]})
    >>> ratios(card, "value", "sum", "total")["nnls"].tolist()
    [4.0]
    """
    return _Values.of(card, column).ratios(query_set, metric)


@dataclass(frozen=True)
class _Values:
    """A scorecard's values by query set and metric: a row a data set, a column a method."""

    errors: dict[tuple[str, str], pd.DataFrame]
    ols: dict[tuple[str, str], pd.Series]

    @classmethod
    def of(cls, card: pd.DataFrame, column: str) -> _Values:
        base = "exact" if column == "value" else column
        errors, ols = {}, {}
        for (query_set, metric), rows in card.groupby(["query_set", "metric"], observed=True):
            wide = rows.pivot(index="dataset", columns="method", values=column)
            key = str(query_set), str(metric)
            errors[key] = wide
            ols[key] = rows[rows["method"] == CONTROL].set_index("dataset")[base]
        return cls(errors, ols)

    def ratios(self, query_set: str, metric: str) -> pd.DataFrame:
        return self.errors[query_set, metric].div(self.ols[query_set, metric], axis=0)


def _within(values: pd.Series, low: float, high: float) -> str:
    return f"{int(values.between(low, high).sum())} of {len(values)} rows"


def _span(values: pd.Series) -> str:
    return f"{values.min():.2f} to {values.max():.2f}"


def section5_claims(card: pd.DataFrame) -> tuple[Claim, ...]:
    """Test the prose claims of the paper's Section 5 on the published values and on ours.

    A claim about most rows holds if at least half of them show it; a claim about all rows holds if
    all do.

    Parameters
    ----------
    card
        From `scorecard.scorecard`: the 240 published values with ours beside.

    Returns
    -------
    tuple of Claim
    """
    both = _Values.of(card, "published"), _Values.of(card, "value")
    theirs, ours = (v.ratios("sum", "total") for v in both)
    claims = [
        _typical(theirs, ours, method, name)
        for method, name in (("nnls", "NNLS"), ("maxfit", "max fitting"))
    ]
    claims.append(_ols_is_near_the_noise(card))
    good, bad = (["sequential", "reweighted"], ["nnls", "maxfit"])
    good_theirs, good_ours = (pd.Series(t[good].to_numpy().ravel()) for t in (theirs, ours))
    claims.append(
        Claim(
            "On the sum query sequential and reweighted fitting perform much better.",
            f"{_span(good_theirs)} times OLS",
            f"{_span(good_ours)} times OLS",
            bool(good_ours.max() < ours[bad].to_numpy().min()),
        )
    )
    relative = card["standard_error"] / card["value"]
    share = float(relative.between(*_TWO_TO_SIX).mean())
    claims.append(
        Claim(
            "Standard errors are roughly 2 to 6 % of the value.",
            "–",
            f"{100 * share:.0f} % of the {len(relative)} are, "
            f"{100 * float((relative < _TWO_TO_SIX[0]).mean()):.0f} % are smaller; all lie between "
            f"{100 * relative.min():.1f} and {100 * relative.max():.1f} %",
            share >= 0.5,
        )
    )
    tops = [v.errors["identity", "max"] for v in both]
    lower = [int((t["nnls"] < t["reweighted"]).sum()) for t in tops]
    claims.append(
        Claim(
            "NNLS has a slightly smaller worst cell than reweighted fitting.",
            f"in {lower[0]} of {len(tops[0])} rows",
            f"in {lower[1]} of {len(tops[1])} rows",
            2 * lower[1] >= len(tops[1]),
        )
    )
    totals = [t["reweighted"] / t["nnls"] for t in (v.errors["identity", "total"] for v in both)]
    claims.append(
        Claim(
            "The total error of the cells is comparable for NNLS and reweighted fitting.",
            f"reweighted is {_span(totals[0])} times NNLS",
            f"reweighted is {_span(totals[1])} times NNLS",
            bool(totals[1].between(*_CLOSE).mean() >= 0.5),
        )
    )
    claims.append(
        Claim(
            "Reweighted fitting outperforms NNLS on the sum query.",
            f"in {int((theirs['reweighted'] < theirs['nnls']).sum())} of {len(theirs)} rows",
            f"in {int((ours['reweighted'] < ours['nnls']).sum())} of {len(ours)} rows",
            bool((ours["reweighted"] < ours["nnls"]).all()),
        )
    )
    claims += [_no_extremes(*both), _alike(*both), _optimistic(card)]
    return tuple(claims)


def _ols_is_near_the_noise(card: pd.DataFrame) -> Claim:
    rows = card[card["method"].eq(CONTROL) & card["query_set"].eq("sum")].set_index("dataset")
    noise = pd.Series(
        {d: noise_for(data_set(d).workload, PureDP(EPSILON))[0].variance for d in rows.index}
    )
    theirs, ours = rows["published"] / noise, rows["exact"] / noise
    return Claim(
        "OLS's error of the sum is close to the variance of the noisy answer.",
        f"{_span(theirs)} times it",
        f"exactly {_span(ours)} times it",
        bool(ours.between(*_CLOSE).all()),
    )


def _no_extremes(published: _Values, own: _Values) -> Claim:
    def told(values: _Values) -> tuple[str, bool]:
        tops = pd.DataFrame({w: values.ratios(q, m).max() for q, m, w in _PRINTED})
        micro = tops.drop(index="ols")
        text = "; ".join(
            f"{name} up to {at_most(float(micro.loc[method].to_numpy().max()))} times OLS "
            f"({micro.loc[method].idxmax()})"
            for method, name in (
                ("sequential", "sequential"),
                ("reweighted", "reweighted"),
                ("nnls", "NNLS"),
                ("maxfit", "max fitting"),
            )
        )
        good = micro.loc[["sequential", "reweighted"]].to_numpy().max()
        return text, bool(good < micro.loc[["nnls", "maxfit"], "the sum"].min())

    (theirs, _), (ours, holds) = told(published), told(own)
    says = "Sequential and reweighted fitting avoid errors as high as the others have on the sum."
    return Claim(says, theirs, ours, holds)


def _alike(published: _Values, own: _Values) -> Claim:
    def told(values: _Values) -> tuple[str, bool]:
        found = {}
        for query_set, metric, words in _PRINTED:
            wide = values.errors[query_set, metric]
            found[words] = wide["sequential"] / wide["reweighted"]
        text = ", ".join(f"{_span(r)} on {words}" for words, r in found.items())
        within = pd.concat(list(found.values())).between(*_CLOSE).mean()
        return f"sequential over reweighted: {text}", bool(within >= 0.5)

    (theirs, _), (ours, holds) = told(published), told(own)
    return Claim("Sequential and reweighted fitting have similar performance.", theirs, ours, holds)


def _optimistic(card: pd.DataFrame) -> Claim:
    """Compare with the exact value where there is one, so that only their noise is in the way."""
    rows = card[card["method"].isin(["maxfit", "sequential"])]
    below = rows["published"] < rows["exact"].fillna(rows["value"])
    return Claim(
        "Keeping only runs that succeeded likely biased max and sequential fitting optimistically.",
        "–",
        f"the published value is the lower one in {int(below.sum())} of {len(below)} comparisons",
        bool(2 * below.sum() > len(below)),
    )


def _typical(theirs: pd.DataFrame, ours: pd.DataFrame, method: str, name: str) -> Claim:
    inside = ours[method].between(*_FOUR_TO_FIVE)
    return Claim(
        f"On the sum query {name} is typically at 4 to 5 times OLS.",
        f"{_within(theirs[method], *_FOUR_TO_FIVE)} are; they span {_span(theirs[method])}",
        f"{_within(ours[method], *_FOUR_TO_FIVE)} are; they span {_span(ours[method])}",
        bool(2 * np.count_nonzero(inside) >= len(inside)),
    )
