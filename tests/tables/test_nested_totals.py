"""Totals among the counts of a table with a tree or with impossible combinations."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microdata_price.exceptions import InputError
from microdata_price.tables.csv_files import read_table
from microdata_price.tables.double_counts import check_totals
from microdata_price.tables.schema import parse_schema

TRACTS = {f"county {c}": [f"{c}{t}" for t in range(4)] for c in range(3)}
BLOCKS = {c: {t: [f"{t}-{b}" for b in range(3)] for t in ts} for c, ts in TRACTS.items()}
SEXES = ["f", "m"]


def invented(cells, scale=9000, seed=1):
    """Counts by path and sex, some of them zero."""
    rng = np.random.default_rng(seed)
    return {
        c: int(n) for c, n in zip(cells, rng.poisson(rng.gamma(1, scale, len(cells))), strict=True)
    }


def tract_counts(scale=9000, seed=1):
    return invented([(c, t, s) for c, ts in TRACTS.items() for t in ts for s in SEXES], scale, seed)


def state_row(counts):
    """A tree whose state is one more county, with one tract."""
    tree = TRACTS | {"the state": ["all of it"]}
    return tree, counts | {
        ("the state", "all of it", s): sum(n for k, n in counts.items() if k[-1] == s)
        for s in SEXES
    }


def county_rows(name):
    """Give each county a tract that is the sum of the others; `name` makes its name."""

    def with_rows(counts):
        tree = {c: [*ts, name(c)] for c, ts in TRACTS.items()}
        sums = {
            (c, name(c), s): sum(n for k, n in counts.items() if (k[0], k[-1]) == (c, s))
            for c in TRACTS
            for s in SEXES
        }
        return tree, counts | sums

    return with_rows


def one_county_row(counts):
    tree, full = county_rows(lambda c: f"{c[-1]}9")(counts)
    tree = {c: ts if c == "county 1" else ts[:-1] for c, ts in tree.items()}
    return tree, {k: n for k, n in full.items() if k[1] in tree[k[0]]}


def both_sexes(counts):
    sums = {
        (*k[:2], "persons"): n + counts[(*k[:2], "m")] for k, n in counts.items() if k[-1] == "f"
    }
    return TRACTS, counts | sums


KINDS = {
    "a row of the whole state": (state_row, "'the state' in 'county'"),
    "a tract called total": (county_rows(lambda _: "total"), "'total' in 'tract'"),
    "a tract called as its county": (county_rows(lambda c: c), r"'county \d' in 'tract'"),
    "a tract with a code": (county_rows(lambda c: f"{c[-1]}9"), "in 'tract'"),
    "one county alone": (one_county_row, "'19' in 'tract'"),
    "a column that sums two others": (both_sexes, "'persons' in 'sex'"),
}


def written(folder, tree, counts, form="long", **more):
    sexes = list(dict.fromkeys(k[-1] for k in counts))
    columns = {"county/tract": tree, "sex": sexes}
    path = folder / "t.csv"
    if form == "long":
        lines = ["county,tract,sex,count", *(",".join([*k, str(n)]) for k, n in counts.items())]
    else:
        rows = {k[:-1]: [str(counts[*k[:-1], s]) for s in sexes] for k in counts}
        lines = [",".join(["county", "tract", *sexes])]
        lines += [",".join([*k, *ns]) for k, ns in rows.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path, parse_schema(json.dumps({"columns": columns} | more))


@pytest.mark.parametrize("form", ["long", "wide"])
@pytest.mark.parametrize("kind", KINDS)
def test_totals_in_a_file_with_a_tree_are_refused(tmp_path, kind, form):
    make, words = KINDS[kind]
    path, schema = written(tmp_path, *make(tract_counts()), form)
    with pytest.raises(InputError, match=words) as caught:
        read_table(path, schema)
    assert "would count everybody twice; leave out rows and columns of totals" in str(caught.value)
    assert '"totals": false' in str(caught.value)
    path, schema = written(tmp_path, *make(tract_counts()), form, totals=False)
    assert read_table(path, schema).sum() > 0
    path, schema = written(tmp_path, TRACTS, tract_counts(), form)
    said: list[str] = []
    assert read_table(path, schema, said.append).sum() > 0
    assert said == []


@pytest.mark.parametrize("column", ["county", "tract", "sex"])
@pytest.mark.parametrize("name", ["Total", "all", "Grand total", "County total"])
def test_a_row_of_totals_that_the_schema_does_not_list_is_refused(tmp_path, column, name):
    path, schema = written(tmp_path, TRACTS, tract_counts())
    at = ("county", "tract", "sex").index(column)
    row = ["county 0", "00", "f", "3"]
    row[at] = name
    path.write_text(path.read_text() + ",".join(row) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"looks like one of totals, which would count everybody"):
        read_table(path, schema)


def test_many_small_places_tell_what_none_tells_by_itself(tmp_path):
    tree = {f"c{c}": [f"{c}-{t}" for t in ("000", "001", "002")] for c in range(60)}
    rng = np.random.default_rng(3)
    counts = {}
    for county, tracts in tree.items():
        parts = rng.integers(0, 4, (2, 2))
        for tract, ns in zip(tracts, [parts.sum(axis=0), *parts], strict=True):
            counts |= {(county, tract, s): int(n) for s, n in zip(SEXES, ns, strict=True)}
    path, schema = written(tmp_path, tree, counts)
    with pytest.raises(InputError, match=r"the first value in 'tract' \(within each 'county'\)"):
        read_table(path, schema)


def test_a_column_all_with_impossible_combinations_is_refused(tmp_path):
    columns = {"age": ["child", "grown", "everyone aged"], "status": ["single", "married"]}
    rule = {"impossible": [{"age": ["child"], "status": ["married"]}]}
    schema = parse_schema(json.dumps({"columns": columns} | rule))
    path = tmp_path / "t.csv"
    path.write_text("age,single,married\nchild,9123,\ngrown,4012,8311\neveryone aged,13135,8311\n")
    with pytest.raises(InputError, match="'everyone aged' in 'age'"):
        read_table(path, schema)
    path.write_text(
        "age,status,count\nchild,single,9123\ngrown,single,4012\ngrown,married,8311\n"
        "everyone aged,single,13135\neveryone aged,married,8311\n"
    )
    with pytest.raises(InputError, match="'everyone aged' in 'age'"):
        read_table(path, schema)


@pytest.mark.parametrize(
    ("tree", "counts"),
    [
        ({"A": ["A1"], "B": ["B1"]}, [[9000], [8000]]),  # a county's only tract
        ({"A": ["A1"], "B": ["B1", "B2", "B3"]}, [[9000], [4000, 3100, 200]]),
        ({"A": ["A1", "A2"], "B": ["B1", "B2"]}, [[700, 700], [65, 65]]),  # twins
        ({"A": ["A1", "A2", "A3"], "B": ["B1"]}, [[0, 0, 0], [0]]),  # nobody
        ({"A": ["A1", "A2", "A3"], "B": ["B1", "B2"]}, [[0, 800, 0], [0, 30]]),
        ({"A": ["A1", "A2", "A3"], "B": ["B1"]}, [[1, 2, 3], [0]]),  # small numbers
        ({"A": ["A", "B"], "B": ["A", "B"]}, [[500, 411], [37, 82]]),
    ],
)
def test_what_is_equal_by_nature_is_no_total(tree, counts):
    columns = {"county/tract": tree}
    for sexes in (["f"], SEXES):
        schema = parse_schema(json.dumps({"columns": columns | {"sex": sexes}}))
        flat = np.array([n for row in counts for n in row])
        table = (flat[:, None] * np.ones(len(sexes), dtype=int)).ravel()
        said: list[str] = []
        check_totals("t.csv", schema, table, said.append)
        assert not said


@given(
    seed=st.integers(0, 2**32),
    shape=st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 4)),
    sexes=st.integers(1, 4),
    scale=st.sampled_from([0.2, 1.5, 5, 50]),
)
@settings(max_examples=200, deadline=None)
def test_random_trees_are_never_refused(seed, shape, sexes, scale):
    rng = np.random.default_rng(seed)
    tree = {
        f"c{c}": {
            f"t{t}": [f"b{b}" for b in range(rng.integers(1, shape[2] + 1))]
            for t in range(rng.integers(1, shape[1] + 1))
        }
        for c in range(shape[0])
    }
    columns = {"county/tract/block": tree, "sex": [f"s{k}" for k in range(sexes)]}
    schema = parse_schema(json.dumps({"columns": columns}))
    check_totals("t.csv", schema, rng.poisson(rng.gamma(0.7, scale, schema.cells)))


def test_block_totals_are_found_below_every_tract():
    rng = np.random.default_rng(5)
    tree = {c: {t: [*bs, "block 0"] for t, bs in ts.items()} for c, ts in BLOCKS.items()}
    schema = parse_schema(json.dumps({"columns": {"county/tract/block": tree, "sex": SEXES}}))
    blocks = rng.poisson(6, (12, 3, 2))
    table = np.concatenate([blocks, blocks.sum(axis=1, keepdims=True)], axis=1)
    tracts = [(c, t, b) for c, ts in tree.items() for t, bs in ts.items() for b in bs]
    places = [
        np.repeat([p[path[k]] for path in tracts], 2) for k, p in enumerate(schema.positions[:3])
    ]
    flat = np.zeros(schema.cells, dtype=np.int64)
    cells = schema.cell_numbers([*places, np.tile([0, 1], len(tracts))])
    flat[cells] = table.ravel()
    with pytest.raises(InputError, match=r"'block 0' in 'block' \(within each 'tract'\)"):
        check_totals("t.csv", schema, flat)
    flat[cells[6]] += 1
    check_totals("t.csv", schema, flat)


@pytest.mark.parametrize("row", ["county 0,,f,9", "county 0,00,,9", ",,f,9"])
def test_a_row_with_an_empty_field_may_be_one_of_totals(tmp_path, row):
    path, schema = written(tmp_path, TRACTS, tract_counts())
    path.write_text(path.read_text() + row + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"as it is empty \(in a row of totals, perhaps"):
        read_table(path, schema)


def test_totals_that_are_counted_at_a_catch_all_are_refused(tmp_path):
    rule = {"values": SEXES, "other": "other", "empty": "not stated"}
    schema = parse_schema(json.dumps({"columns": {"county/tract": TRACTS, "sex": rule}}))
    counts = tract_counts()
    for name in ("persons", ""):
        lines = ["county,tract,sex,count", *(",".join([*k, str(n)]) for k, n in counts.items())]
        for county, tracts in TRACTS.items():
            for tract in tracts:
                n = sum(counts[county, tract, s] for s in SEXES)
                lines.append(f"{county},{tract},{name},{n}")
        path = tmp_path / "t.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        with pytest.raises(InputError, match=r"in 'sex' look like totals of 'f' and 'm'"):
            read_table(path, schema)
