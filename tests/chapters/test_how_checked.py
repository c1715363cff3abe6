"""How this was checked: the table repeats the file, and the fits are those of the grid."""

import pandas as pd
import pytest
from chapter_texts import filled

from microdata_price.base.data import data_path
from microdata_price.chapters.how_checked import CHECKS, Findings


@pytest.mark.parametrize("given", [{}, {"epsilon": 3.0, "rho": 0.5, "delta": 1e-9}], ids=str)
def test_the_texts_are_whole(given):
    assert all("{{" not in text for text in filled("how_checked", **given))
    found = Findings("", **given)
    assert found.held == len(found.audits) > 0


def test_the_table_has_a_row_for_each_of_the_file_and_one_for_the_fits():
    written, table = pd.read_csv(data_path("checks.csv")), Findings().table
    assert set(written["check"]) == set(CHECKS)
    assert sorted(table["number"][1:]) == sorted(written["tried"])
    assert (written["passed"] <= written["tried"]).all()
    # 31 tables, two levels, five methods, 100 runs: a reader's own small grid.
    assert table["number"][0] == 31 * 2 * 5 * 100
