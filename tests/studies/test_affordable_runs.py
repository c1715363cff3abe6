"""Where each run draws every cell, what is said names the runs made, not those asked for."""

from __future__ import annotations

from typing import Any

import pytest

from microdata_price.exceptions import InputError
from microdata_price.studies import (
    difficult_table,
    leading_constant,
    lower_zcdp,
    upper_projection,
)

ASKED = {
    difficult_table: lambda runs, d: difficult_table.study(0.5, d, runs, 1),
    upper_projection: lambda runs, d: upper_projection.one_table(0.5, d, runs, 1),
    leading_constant: lambda runs, d: leading_constant.study(0.5, d, runs, 1),
    lower_zcdp: lambda runs, d: lower_zcdp.telling(0.125, d, runs, 1),
}


@pytest.mark.parametrize("chapter", ASKED, ids=lambda m: m.__name__.rpartition(".")[2])
def test_the_runs_made_are_the_runs_named(chapter: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"^runs is 1;"):
        ASKED[chapter](1, 10)
    with pytest.raises(InputError, match=r"^d is "):
        ASKED[chapter](100, 10**9)
    monkeypatch.setattr(chapter, "runs_within", lambda runs, d, **_: min(runs, 700 // d))
    assert ASKED[chapter](100, 40).runs == 17
