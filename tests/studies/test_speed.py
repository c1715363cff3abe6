from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sentences import check_texts, numbers, says, texts

from microdata_price.exceptions import BuildError
from microdata_price.studies.speed import Findings, study

METHODS = ("nnls", "maxfit", "sequential", "reweighted")


def made_up(seed: int, scale: float) -> Findings:
    """Whatever a machine measures, the sentences must follow."""
    rng = np.random.default_rng(seed)
    rows = []
    for method in METHODS:
        own, base = scale * rng.uniform(0.01, 0.2), rng.uniform(5, 20)
        rows.append((method, "ours", own, base / own, 0.0))
        rows.append((method, "cvxpy + Clarabel, rebuilt", base, 1.0, 1e-4))
    per_fit = pd.DataFrame(
        rows, columns=["method", "solver", "milliseconds", "ratio", "difference"]
    )
    lists = pd.DataFrame(
        [(n, m, n * 1e-7, n * 5e-8, 2.0) for n in (1000, 10_000) for m in METHODS],
        columns=["cells", "method", "seconds", "sort_seconds", "ratio"],
    )
    tables = pd.DataFrame({"side": 30, "method": METHODS, "seconds": 0.1, "certificate": 1e-12})
    return Findings(per_fit, lists, tables)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(4))
def test_sentences_follow_what_was_measured(seed: int, scale: float) -> None:
    found = made_up(seed, scale)
    check_texts(texts(found).values())
    ours = found.per_fit[found.per_fit["solver"] == "ours"]
    assert numbers(found.opening)[0] <= ours["ratio"].min() * (1 + 1e-9)
    for ratio in ours["ratio"]:
        assert says(found.ratios_said, ratio, rel=0.06)
    two = ours.set_index("method").loc[["sequential", "reweighted"], "milliseconds"]
    assert numbers(found.rivals_said) == pytest.approx(sorted(two), rel=0.06)


def test_failed_benchmarks_are_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="No module named"):
        study(tmp_path)
