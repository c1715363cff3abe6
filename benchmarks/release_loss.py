"""The privacy loss of releases of two neighbouring tables, as far as it can be proven from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special, stats

from microdata_price.fitting import fit
from microdata_price.model.measurement import Measurements
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.workload import Workload
from microdata_price.release.measure import measure
from microdata_price.release.mechanism import Mechanism
from microdata_price.release.plan import plan_release
from microdata_price.release.rounding import round_table
from microdata_price.tables.schemas import Schema

Array = NDArray[np.float64]

CHANCE = 1e-9
"""How probable it is at most that a loss is called proven that is none."""
SCHEMA = Schema(("answer",), (("yes", "no"),))
WORKLOAD = Workload.table(2)
TABLE, NEIGHBOUR = np.array([4.0, 0.0]), np.array([4.0, 1.0])
LEVELS = (PureDP(1.0), PureDP(0.1), ConcentratedDP(0.25), ConcentratedDP(0.005))
METHODS = ("nnls", "maxfit", "sequential", "reweighted")


def releases(
    table: Array, guarantee: PureDP | ConcentratedDP, count: int
) -> tuple[Mechanism, tuple[NDArray[np.int64], ...]]:
    """Measure a table again and again, as `release` does; answers have shape (count, queries)."""
    plan = plan_release(SCHEMA, WORKLOAD, guarantee)
    made = [measure(plan, table).answers for _ in range(count)]
    return plan.mechanism, tuple(np.stack(part) for part in zip(*made, strict=True))


def microdata(
    mechanism: Mechanism, answers: Sequence[NDArray[np.int64]], method: str
) -> NDArray[np.int64]:
    """Fit and round every release, as `release` does."""
    stacked = Measurements(WORKLOAD, tuple(a.astype(float) for a in answers), mechanism.noise)
    weights = np.maximum(fit(stacked, method).cells, 0)
    return np.stack([round_table(w, WORKLOAD) for w in weights])


def events(answers: Sequence[Array], tables: Array) -> NDArray[np.bool_]:
    """Return the indicator of many sets of outputs, shape (releases, sets): tails of each."""
    vector = np.concatenate([*answers, tables, tables.sum(axis=1, keepdims=True)], axis=1)
    # The direction in which one more record moves all answers at once shows the loss best.
    vector = np.column_stack([vector, answers[0][:, 0] + answers[1][:, 1]])
    cuts = np.arange(-8, 16)
    above = (vector[:, :, None] > cuts).reshape(len(vector), -1)
    both = (answers[0][:, :1] > cuts) & (answers[1][:, 1:] > cuts[:1])
    joint = [(answers[0][:, 0] > a) & (answers[1][:, 1] > b) for a in cuts[::3] for b in cuts[::3]]
    sets = np.concatenate([above, both, np.stack(joint, axis=1)], axis=1)
    return np.concatenate([sets, ~sets], axis=1)


def ratio(p: Array, q: Array) -> Array:
    """Return the logarithm of the ratio of a set's chances: pure DP bounds it by epsilon."""
    return np.log(p) - np.log(q)


def divergence(p: Array, q: Array) -> Array:
    """Return the divergence of a set's chances: rho bounds that of the laws, and so of any set."""
    return special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q)


def proven(
    loss: Callable[[Array, Array], Array], first: NDArray[np.bool_], second: NDArray[np.bool_]
) -> float:
    """Return a lower bound on a loss between two laws, false with a chance below 1e-9.

    The loss is a function of the chances p and q of one set that grows with p and falls with q.
    """
    n = len(first)
    level = CHANCE / (4 * first.shape[1])
    bound = -math.inf
    for a, b in ((first, second), (second, first)):
        hits, others = a.sum(axis=0), b.sum(axis=0)
        # Clopper and Pearson's bounds for a chance, from below and from above.
        low = np.where(hits > 0, stats.beta.ppf(level, hits, n - hits + 1), 0.0)
        high = np.where(others < n, stats.beta.isf(level, others + 1, n - others), 1.0)
        apart = low > high
        if apart.any():
            bound = max(bound, float(loss(low[apart], high[apart]).max()))
    return bound


def release_loss(
    count: int = 5000,
    levels: Sequence[PureDP | ConcentratedDP] = LEVELS,
    methods: Sequence[str] = METHODS,
) -> pd.DataFrame:
    """Release two neighbouring tables many times and compare the loss seen with the claim.

    By default there are 40,000 measurements: two tables at four levels.

    Returns
    -------
    DataFrame
        One line a level and method: the ``claim``, the loss that the releases prove (``proven``,
        nan where the two cannot be told apart), and whether it is ``within`` the claim.
    """
    lines = []
    for level in levels:
        mechanism, first = releases(TABLE, level, count)
        second = releases(NEIGHBOUR, level, count)[1]
        loss = ratio if isinstance(level, PureDP) else divergence
        for method in methods:
            one = events(first, microdata(mechanism, first, method))
            two = events(second, microdata(mechanism, second, method))
            found = proven(loss, one, two)
            lines.append(
                {
                    "level": level.plain,
                    "method": method,
                    "releases": 2 * count,
                    "claim": mechanism.guarantee.level,
                    "proven": found if math.isfinite(found) else math.nan,
                    "within": not found > mechanism.guarantee.level,
                }
            )
    return pd.DataFrame(lines)
