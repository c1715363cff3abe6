"""Schemas and workloads: cells, groups, impossible combinations, and what is refused."""

import itertools
import json
import os
from decimal import Context, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.exceptions import InputError
from microdata_price.model.queryset import QuerySet
from microdata_price.tables import workloads
from microdata_price.tables.schemas import RESERVED, Group, Rule, Schema, load_schema, parse_schema
from microdata_price.tables.workloads import DEFAULT, parse_workload, query_values

TWO = Schema(("RAC1P", "HISP"), (("1", "2"), ("1", "2", "3")))
THREE = Schema(("a", "b c", "d"), (("1", "2"), ("1", "2", "3"), ("1", "2")))
ONE = Schema(("a",), (("1", "2"),))
SAME = Schema(("a",), (("1", "2"),), groups=(Group("county", "a", ("A", "B"), (("1",), ("2",))),))
COUNTY = Group("county", "tract", ("A", "B"), (("3", "1"), ("2",)))
STATE = Group("state", "county", ("S",), (("A", "B"),))


@st.composite
def schemas(draw):
    """Any small schema, with rules, groups and impossible combinations."""
    sides = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    columns = tuple("xyz"[: len(sides)])
    values = tuple(tuple(f"{c}{k}" for k in range(n)) for c, n in zip(columns, sides, strict=True))
    rules = tuple(Rule(other=v[-1] if len(v) > 1 and draw(st.booleans()) else "") for v in values)
    groups = ()
    if draw(st.booleans()):
        place = draw(st.lists(st.integers(0, 1), min_size=sides[0], max_size=sides[0]))
        parts = [tuple(v for v, k in zip(values[0], place, strict=True) if k == g) for g in (0, 1)]
        named = [(f"g{k}", part) for k, part in enumerate(parts) if part]
        groups = (Group("of x", "x", *map(tuple, zip(*named, strict=True))),)
    names = [*columns, *(g.name for g in groups)]
    impossible = []
    for _ in range(draw(st.integers(0, 2))):
        chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
        every = dict(zip(columns, values, strict=True)) | {g.name: g.values for g in groups}
        impossible.append(tuple((name, (draw(st.sampled_from(every[name])),)) for name in chosen))
    try:
        return Schema(columns, values, rules, groups, tuple(impossible))
    except InputError:  # nothing is possible
        return Schema(columns, values, rules, groups)


def cells_of(schema):
    """The values of each possible cell, columns then groups, by hand."""
    up = {
        g.name: {v: n for n, m in zip(g.values, g.members, strict=True) for v in m}
        for g in schema.groups
    }
    for values in itertools.product(*schema.values):
        cell = dict(zip(schema.columns, values, strict=True))
        for group in schema.groups:
            cell[group.name] = up[group.name][cell[group.of]]
        if not any(all(cell[n] in v for n, v in rule) for rule in schema.impossible):
            yield cell


@given(schemas(), st.data())
def test_cells_queries_and_their_names_agree_with_a_list_by_hand(schema, data):
    cells = list(cells_of(schema))
    assert schema.cells == len(cells)
    listed = [{name: cell[name] for name in schema.columns} for cell in cells]
    assert schema.frame().to_dict("records") == listed
    names = data.draw(st.lists(st.sampled_from(schema.names), min_size=1, unique=True))
    queries = parse_workload("*".join(names), schema).query_sets[0]
    told = query_values(schema, queries).to_dict("records")
    counts = np.arange(1.0, schema.cells + 1)
    answers = queries.answers(counts.reshape(schema.shape))
    for values, answer in zip(told, answers, strict=True):
        said = {name: value for name, value in values.items() if value}
        assert set(said) == set(names) or queries.name == "identity"
        mine = [c for c, cell in zip(counts, cells, strict=True) if said.items() <= cell.items()]
        assert answer == sum(mine) > 0


@given(schemas())
def test_a_schema_is_written_and_read_back(schema):
    assert parse_schema(schema.to_json()) == schema
    workload = parse_workload("identity", schema)
    assert parse_workload(", ".join(workload.names), schema).names == workload.names


def test_what_a_file_may_say(tmp_path):
    path = tmp_path / "s.json"
    os.mkfifo(tmp_path / "pipe")
    for name, said in (("pipe", "must be a regular file"), ("x" * 300, "x(: it)? is (lock|miss)")):
        with pytest.raises(InputError, match=said):  # at once
            load_schema(tmp_path / name)
    text = """{"columns": {"sex": ["f", 1], "age": {"from": -1, "to": 2, "empty": "none"},
     "pay": {"cuts": [18, 65.5], "other": "odd"}, "tract": ["1", "2", "3"]},
     "groups": {"county": {"tract": {"A": ["3", "1"], "B": ["2"]}}, "state": {"county": {"S": ["A",
     "B"]}}}, "impossible": [{"age": ["0"], "county": ["A"]}], "layout": "records", "ignore": "*",
     "totals": false}"""
    path.write_text(text, "utf-16")
    schema = load_schema(path)
    assert schema.values[:2] == (("f", "1"), ("-1", "0", "1", "2", "none"))
    assert schema.values[2] == ("below 18", "18 to below 65.5", "65.5 or more", "odd")
    assert schema.groups == (COUNTY, STATE)
    assert (schema.layout, schema.ignore, schema.totals) == ("records", ("*",), False)
    assert schema.cells == 2 * 4 * (5 * 3 - 2)
    assert set(json.loads(schema.to_json())) == {"columns", "groups", "impossible"}
    pay = schema.reader("pay")
    told = {"17": 0, "18": 1, "65.5": 2, "1e9": 2, "x": 3, "below 18": 0, "": -1}
    told |= {f"17.{'9' * 300}": 0, f"1{'0' * 300}e-299": 0, "1e-99999": 0, f"1e{'9' * 17}": 2}
    assert {t: pay(t) for t in told} == told
    # Schemas of earlier releases stay valid.
    named, unnamed = (parse_schema(f'{COLUMNS}"count": {n}}}') for n in ('"n"', "false"))
    assert (named.layout, named.count) == ("counts", "n")
    assert (unnamed.layout, unnamed.count, TWO.layout) == ("records", "count", "")


@given(st.lists(st.floats(-9e98, 9e98) | st.integers(-(2**53), 2**53), min_size=1, unique=True))
def test_cut_points_also_below_zero_are_called_what_is_applied(cuts):
    schema = parse_schema(json.dumps({"columns": {"a": {"cuts": sorted(cuts)}}}))
    assert parse_schema(schema.to_json()) == schema
    told = [value.split()[0] for value in schema.values[0][1:]]
    assert [float(name) for name in told] == sorted(cuts)
    assert [schema.reader("a")(name) for name in told] == [*range(1, len(told) + 1)]
    below = [str(Context(120).next_minus(Decimal(name))) for name in told]  # no double tells them
    assert [schema.reader("a")(field) for field in below] == [*range(len(told))]
    rising = tuple(sorted(cuts))
    wrong = [(*rising, 1e99), (np.nan, *rising[1:]), (*rising[:-1], np.inf)]
    wrong += [rising[1:], rising[::-1], (rising[1], *rising[1:])] if rising[1:] else []
    for others in wrong:
        with pytest.raises(InputError, match="'a' has cut points that"):
            Schema(("a",), schema.values, (Rule(cuts=others),))


COLUMNS = '{"columns": {"a": ["x", "y"]}, '
SIGNED = [f'"{name}": ["1"]' for name in ("@a", "-5", "+1.5")]  # -5*a is a query set
NO_FORMS = [  # of a column
    *(("[]", "no values"), ('["x", " x"]', "a value twice"), ('[""]', "which is empty")),
    *(('["x\\u200b"]', r"U\+200B"), ('["x", "\\ufffd"]', r"U\+FFFD, invisible or not UTF-8")),
    *(("[1.5]", "texts or whole numbers"), ('{"cuts": [3, 1]}', "do not rise")),
    ('{"from": 0, "to": 9, "stepp": 2}', "schema's column 'a' 'stepp'"),
    ('{"from": 1, "to": 2000001}', "'a' has a range of over 2,000,000 values, the most that may"),
    *((v, "must have a list of values") for v in ('{"cuts": [1e400]}', '{"from": 1, "to": 0}')),
    *((f'{{"values": ["x"], {k}}}', "that is no text") for k in ('"other": null', '"empty": []')),
    (f'{{"cuts": [0, {2**53 + 1}]}}', "too many digits"),
    ('{"values": ["x"], "other": "x"}', "at least two values"),
]
CHAIN = {f"g{k}": {f"g{k - 1}" if k else "a": {"x": ["x"], "y": ["y"]}} for k in range(101)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, "is not JSON") for text in ("", "[" * 10**5)),
        *(("[]", "must be an object"), ("{}", "no columns")),
        ('{"columns": {"e\\u0301": ["x"], "\\u00e9": ["y"]}}', "two things of one name"),
        ('{"columns": {"a": ["x"], "A": ["y"]}}', "capital letters"),
        *((f'{{"columns": {{"a": {form}}}}}', message) for form, message in NO_FORMS),
        *(
            (f'{{"columns": {{{columns}}}}}', "begins as formulas of spreadsheets do")
            for columns in ('"a": ["=1+1"]', '"a": ["-x"]', '"a": ["1", "+cmd|x"]', *SIGNED)
        ),
        ('{"columns": {"a*b": ["x"]}}', "a comma, semicolon or star"),
        ('{"columns": {"a": {"from": 1, "to": 1999}, "b": {"from": 0, "to": 1999}}}', "2,000,000"),
        (f'{{"columns": {json.dumps({f"c{k}": ["x"] for k in range(33)})}}}', "more than 32"),
        (COLUMNS + f'"groups": {json.dumps(CHAIN)}}}', "more than 100 groups"),
        (COLUMNS + '"ignore": ["count"]}', "ignores its column of counts"),
        (COLUMNS + '"count": "n", "ignore": ["n"]}', "ignores its column of counts, 'n'"),
        (COLUMNS + '"layout": "wide"}', "layout is 'wide'"),
        (COLUMNS + '"weighted": true}', "is weighted"),
        (COLUMNS + '"ignored": "*"}', "no key of a schema 'ignored'; did you mean ignore"),
        (COLUMNS + '"impossible": [1]}', "the schema's 'impossible' is not as docs"),
        (COLUMNS + '"groups": {"g": {"b": {"G": ["x", "y"]}}}}', "value of one of the columns"),
        (COLUMNS + '"groups": {"g": {"a": {"G": ["x", "y"], "H": []}}}}', "every value"),
        (COLUMNS + '"impossible": [{"a": ["z"]}]}', "not listed"),
        (COLUMNS + '"impossible": [{"a": ["x"]}, {"a": ["y"]}]}', "none of them are possible"),
        *((COLUMNS + f'"{k}}}', "ignores, or takes") for k in ('ignore": ["a"]', 'count": "a"')),
        *((f'{{"columns": {{"{name}": ["x"]}}}}', "has a meaning here") for name in RESERVED),
    ],
)
def test_what_is_no_schema_is_refused(tmp_path, text, message):
    (path := tmp_path / "s.json").write_text(text)
    with pytest.raises(InputError, match=message) as error:
        load_schema(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("text", "schema", "names", "axes"),
    [
        (DEFAULT, TWO, ("sum", "RAC1P", "HISP", "identity"), [(), (0,), (1,), (0, 1)]),
        (DEFAULT, ONE, ("sum", "identity"), [(), (0,)]),
        (DEFAULT, Schema(("a",), (("only",),)), ("sum",), [()]),
        ("identity;sum", TWO, ("identity", "sum"), [(0, 1), ()]),
        ("sum; HISP * RAC1P", TWO, ("sum", "identity"), [(), (0, 1)]),
        ("b c*d, d*a, sum", THREE, ("b c*d", "a*d", "sum"), [(1, 2), (0, 2), ()]),
    ],
)
def test_workloads_are_read_in_their_order(text, schema, names, axes):
    workload = parse_workload(text, schema)
    assert (workload.names, [q.axes for q in workload.query_sets]) == (names, axes)
    assert workload.shape == schema.shape


@pytest.mark.parametrize(
    ("text", "schema", "message"),
    [
        ("sum, rac1p", TWO, "no column or word of a workload 'rac1p'"),
        *(("", TWO, "empty part"), ("sum, margnals", TWO, "did you mean marginals")),
        *(("RAC1P*", TWO, "a star without a name"), ("RAC1P*RAC1P", TWO, "a column twice")),
        ("sum, RAC1P, marginals", TWO, "'RAC1P' twice"),
        *(("marginals", ONE, "nothing but 'sum' or 'id"), ("county, identity", SAME, "twice")),
    ],
)
def test_what_is_no_workload_is_refused(text, schema, message):
    with pytest.raises(InputError, match=message):
        parse_workload(text, schema)


def test_a_query_set_of_another_make_gets_no_names():
    race = [[0, 0, 0], [1, 1, 1]]
    assert len(query_values(TWO, QuerySet.from_labels(race, "RAC1P"))) == 2
    others = [[[1, 1, 1], [0, 0, 0]], [[0, 0, 0], [1, 1, -1]], [0, 0, 0, 1, 1, 1]]
    for labels, name in ((race, "HISP"), (race, "race"), *((o, "RAC1P") for o in others)):
        with pytest.raises(InputError):
            query_values(TWO, QuerySet.from_labels(labels, name))


def test_shares_are_divided_and_checked():
    workload = parse_workload(DEFAULT, TWO)
    shares = workloads.shares_by_set({"marginals": 0.6, "HISP": 0.1}, TWO, workload)
    assert shares == {"RAC1P": 0.6, "HISP": 0.1}
    assert workloads.split_shares(workload, shares) == pytest.approx((0.15, 0.6, 0.1, 0.15))
    assert workloads.split_shares(workload, {}) == (0.25,) * 4
    asked = parse_workload("d*a, identity", THREE)
    given = workloads.shares_by_set({"d * a": 0.1, "d*b c*a": 0.2, "sum": 0.3}, THREE, asked)
    assert given == {"a*d": 0.1, "identity": 0.2, "sum": 0.3}  # what is not asked is refused later
    with pytest.raises(InputError, match="two shares; give it one"):
        workloads.shares_by_set({"a*d": 0.1, "d*a": 0.1}, THREE, asked)
    with pytest.raises(InputError, match="each has its own"):
        workloads.shares_by_set({"marginals": 0.1, "RAC1P": 0.1, "HISP": 0.1}, TWO, workload)
    with pytest.raises(InputError, match="no measured query set 'hisp'; did you mean HISP"):
        workloads.split_shares(workload, {"hisp": 0.1})
    few = dict.fromkeys(workload.names, 0.1)
    for wrong in (*({"sum": s} for s in (0.0, -1.0, float("nan"), 1.0, 2.0)), few):
        with pytest.raises(InputError, match="add up to"):
            workloads.split_shares(workload, wrong)
    for none in ("a", None, [0.1, 0.2]):
        with pytest.raises(InputError, match="in the shares is something that is not a number"):
            workloads.split_shares(workload, {"sum": none, "HISP": 0.1})
