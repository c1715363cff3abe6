"""Workloads as a person writes them."""

import pytest

from microdata_price.exceptions import InputError
from microdata_price.model.workload import Workload
from microdata_price.tables.schema import Schema
from microdata_price.tables.workload_text import DEFAULT, parse_workload

TWO = Schema(("RAC1P", "HISP"), (("1", "2"), ("1", "2", "3")))
THREE = Schema(("a", "b c", "d"), (("1", "2"), ("1", "2", "3"), ("1", "2")))
ONE = Schema(("a",), (("1", "2"),))


@pytest.mark.parametrize(
    ("text", "schema", "names", "axes"),
    [
        (DEFAULT, TWO, ("sum", "RAC1P", "HISP", "identity"), [(), (0,), (1,), (0, 1)]),
        (DEFAULT, ONE, ("sum", "identity"), [(), (0,)]),
        ("a", ONE, ("identity",), [(0,)]),
        ("identity;sum", TWO, ("identity", "sum"), [(0, 1), ()]),
        ("sum; HISP * RAC1P", TWO, ("sum", "identity"), [(), (0, 1)]),
        ("b c*d, d*a, sum", THREE, ("b c*d", "a*d", "sum"), [(1, 2), (0, 2), ()]),
    ],
)
def test_workloads_are_read_in_their_order(text, schema, names, axes):
    workload = parse_workload(text, schema)
    assert workload.names == names
    assert [q.axes for q in workload.query_sets] == axes
    assert workload.shape == schema.shape


def test_the_default_is_the_papers():
    ours, paper = parse_workload(DEFAULT, TWO), Workload.table(TWO.shape)
    assert [q.axes for q in ours.query_sets] == [q.axes for q in paper.query_sets]


@pytest.mark.parametrize(
    ("text", "schema", "message"),
    [
        ("", TWO, "empty part"),
        ("sum,,identity", TWO, "empty part"),
        ("sum, rac1p", TWO, "no column or word of a workload 'rac1p'"),
        ("sum, margnals", TWO, "did you mean marginals"),
        ("RAC1P*", TWO, "a star without a column on each side"),
        ("RAC1P*RAC1P", TWO, "a column twice"),
        ("sum, RAC1P, marginals", TWO, "'RAC1P' twice"),
        ("identity, RAC1P*HISP", TWO, "'identity' twice"),
        ("a, identity", ONE, "'identity' twice"),
    ],
)
def test_what_is_no_workload_is_refused(text, schema, message):
    with pytest.raises(InputError, match=message.replace("*", r"\*")):
        parse_workload(text, schema)


@pytest.mark.parametrize("part", ["region*", "*sex", "region**sex", "*"])
def test_a_star_needs_a_column_on_each_side(part):
    with pytest.raises(InputError, match=r"star without a column on each side; .* region\*sex"):
        parse_workload(f"sum, {part}", Schema(("region", "sex"), (("n", "s"), ("f", "m"))))
