from __future__ import annotations

import csv

import numpy as np
import pytest
from sentences import check_texts, numbers, says, texts

from microdata_price.base.data import data_path
from microdata_price.exceptions import InputError
from microdata_price.studies.mbi import ORDER, RIVALS, study

with data_path("peers.csv").open(newline="") as stream:
    ROWS = [r for r in csv.DictReader(stream) if r["metric"] == "total"]
OF = {(r["dataset"], r["query_set"], r["method"]): r for r in ROWS}
TABLES = sorted({r["dataset"] for r in ROWS})


@pytest.mark.parametrize("limit", [0.0, 2.0, 100.0])
def test_every_sentence_follows_from_the_kept_file(limit: float) -> None:
    found = study(limit)
    check_texts(texts(found).values())
    said = dict(
        zip(
            ORDER,
            (found.sum_said, found.rows_said, found.columns_said, found.cells_said),
            strict=True,
        )
    )
    for query_set, text in said.items():
        for method in RIVALS:
            apart = [float(OF[t, query_set, method]["minus_mbi"]) for t in TABLES]
            error = [float(OF[t, query_set, method]["minus_mbi_error"]) for t in TABLES]
            won = sum(a > limit * e and a > 0 for a, e in zip(apart, error, strict=True))
            lost = sum(a < -limit * e and a < 0 for a, e in zip(apart, error, strict=True))
            assert f"wins clearly in {won} tables and loses clearly in {lost}" in text, text
    ratio = np.median(
        [float(OF[t, "sum", "nnls"]["value"]) / float(OF[t, "sum", "mbi"]["value"]) for t in TABLES]
    )
    assert says(found.sum_said, float(ratio), rel=0.06)
    assert says(found.opening, 1 / float(ratio), rel=0.06)
    exact = max(
        abs(float(OF[t, q, "fixed-total"]["value"]) / float(OF[t, q, "mbi"]["value"]) - 1)
        for t in TABLES
        for q in ORDER
    )
    assert numbers(found.exact_said)[-1] >= 100 * exact * (1 - 1e-9)
    assert "No price at all" in found.total_said


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(InputError, match="0 or more"):
        study(-1.0)
