"""Requests of `price` and `release` that are odd: understood, or refused with what to do."""

from __future__ import annotations

import pytest

from microdata_price.commands.reading import read_shares
from microdata_price.exceptions import InputError
from microdata_price.release.mechanism import split_shares
from microdata_price.tables.schema import Schema
from microdata_price.tables.workload_text import parse_workload, shares_by_set

SCHEMA = Schema(("area", "sex", "age"), (("n", "s"), ("f", "m"), ("1", "2", "3")))
WORKLOAD = parse_workload("sum, marginals, identity", SCHEMA)


def split(text: str) -> tuple[float, ...]:
    """Divide a budget as the commands do."""
    given = read_shares(None, None, text)  # type: ignore[arg-type]
    assert given is not None
    return split_shares(WORKLOAD, shares_by_set(given, SCHEMA, WORKLOAD))


def test_a_share_of_the_marginals_is_divided_alike() -> None:
    assert split("marginals=0.6") == pytest.approx((0.2, 0.2, 0.2, 0.2, 0.2))
    assert split("marginals=0.6, sum=0.3") == pytest.approx((0.3, 0.2, 0.2, 0.2, 0.1))
    assert split("marginals=0.4, age=0.2, sum=0.3") == pytest.approx((0.3, 0.2, 0.2, 0.2, 0.1))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sum=1", "add up to 1 and leave nothing for area, sex, age, identity; give less"),
        ("sum=0.5,identity=0.5", "add up to 1 and leave nothing for area, sex, age;"),
        ("sum=0.5,marginals=0.4,identity=0.05", "add up to 0.95, though every query set has one"),
        ("sum=0.9,identity=0.3", "add up to 1.2, more than 1; give less"),
        ("sum=1e-12", "share of 'sum' is 1e-12: its answers would be noise; give it 1e-06 or more"),
        ("sum=0.9999999", "leave nothing for"),
        ("sex*age=0.5", "given for 'sex\\*age', which is not asked; give shares to some of sum"),
        ("income=0.5", "no query set 'income'"),
        ("marginals=0.3,area=0.1,sex=0.1,age=0.1", "'marginals', which has shares already"),
    ],
)
def test_shares_that_make_no_split_say_what_to_do(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        split(text)


def test_a_table_of_one_cell_is_the_sum() -> None:
    one = Schema(("area",), (("n",),))
    with pytest.raises(InputError, match=r"single cell.*ask for 'sum' alone"):
        parse_workload("sum, marginals, identity", one)
    assert parse_workload("sum", one).names == ("sum",)
