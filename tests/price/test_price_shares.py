"""What a split of the budget costs: `price` with shares, against their exact errors."""

import numpy as np
import pytest

from microdata_price.errors.known import ols_variances
from microdata_price.model.measurement import noise_for
from microdata_price.model.privacy import PureDP
from microdata_price.price.simulation import price_table
from microdata_price.tables.schemas import Schema
from microdata_price.tables.workloads import DEFAULT, parse_workload

SCHEMA = Schema(("a", "b"), (("1", "2", "3"), ("x", "y")))
WORKLOAD = parse_workload(DEFAULT, SCHEMA)
TABLE = np.array([[300, 200], [400, 250], [500, 600]])


@pytest.mark.parametrize("shares", [{"sum": 0.7}, {"sum": 0.1, "identity": 0.6}])
def test_the_price_of_a_split_rests_on_its_noise(shares):
    made = price_table(
        TABLE, SCHEMA, WORKLOAD, PureDP(1.0), ["nnls"], runs=400, seed=1, shares=shares
    )
    rest = (1 - sum(shares.values())) / (4 - len(shares))
    split = [shares.get(n, rest) for n in WORKLOAD.names]
    assert made.split == pytest.approx(split)
    exact = ols_variances(WORKLOAD, [n.variance for n in noise_for(WORKLOAD, PureDP(1.0), split)])
    totals = made.totals[made.totals["metric"] == "total"].set_index(["method", "query_set"])
    for name, values in zip(WORKLOAD.names, exact, strict=True):
        assert totals.loc[("ols", name), "squared_error"] == pytest.approx(values.sum())
        # Cells far from zero: nonnegative least squares is least squares.
        row = totals.loc[("nnls", name)]
        assert row["price"] == pytest.approx(1, abs=0.01 + 5 * row["price_error"])
