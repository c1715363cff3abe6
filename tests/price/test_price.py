"""The price of a table: right numbers, the notice on everything, the command."""

import json
import os
import signal
from io import BytesIO
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from command_line import refused, run
from microdata_price.commands import price as price_commands
from microdata_price.errors.known import ols_variances
from microdata_price.exceptions import InputError
from microdata_price.figures.price import bias_and_variance, errors_by_count, prices
from microdata_price.fitting import METHODS, microdata_methods
from microdata_price.grid import evaluate
from microdata_price.model.benchmark import DataSet, data_set
from microdata_price.model.measurement import measure, noise_for
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.workload import Workload
from microdata_price.price.report import NOTICE, _drawn, price_files, report, summary, with_error
from microdata_price.price.simulation import price_table
from microdata_price.tables.read import read_table
from microdata_price.tables.schemas import Group, Schema, load_schema, schema_path
from microdata_price.tables.workloads import DEFAULT, parse_workload
from release_samples import CODES, counts_csv

ODD = Schema(("method", "price", "query"), (("nnls", "total"), ("a", "b"), ("1", "2", "3")))
TWO = Schema(("cell",), (("x", "y"),))
CELLS = (TWO, parse_workload("sum, identity", TWO))


def every(made):
    """Return all queries of all methods."""
    return pd.concat(map(made.of, made.found), ignore_index=True)


@pytest.fixture(scope="module")
def real():
    data = data_set("PUMA0101301")
    workload = parse_workload(DEFAULT, CODES)
    return data, workload, price_table(data.table, CODES, workload, PureDP(0.5), runs=500, seed=1)


@pytest.fixture
def made(real):
    return real[2]


def test_what_is_known_exactly_is_exact(real, made):
    totals = made.totals.set_index(["method", "query_set", "metric"])
    # 9 x 24 with sum, marginals and cells at b = 8: 128 * 216/250 for each query.
    assert totals.loc[("ols", "sum", "total"), "squared_error"] == pytest.approx(110.592)
    assert totals.loc[("ols", "HISP", "max"), "squared_error"] == pytest.approx(110.592)
    b, q = 8.0, real[0].table.sum()
    exact = 2 * b**2 - np.exp(-q / b) * (q * b + b**2)
    row = totals.loc[("sequential", "sum", "total")]
    assert (row["squared_error"], row["standard_error"]) == (pytest.approx(exact), 0)
    assert (totals["ols"] > 0).all()
    np.testing.assert_allclose(totals["price"] ** 2, totals["squared_error"] / totals["ols"])


def test_bias_and_variance_add_up_to_the_error(made):
    queries = every(made)
    parts = queries["bias"] ** 2 + queries["variance"]
    np.testing.assert_allclose(parts, queries["squared_error"], rtol=1e-9)
    totals = made.totals[made.totals["metric"] == "total"].set_index(["method", "query_set"])
    plain = queries.groupby(["method", "query_set"])["squared_error"].sum()
    parts = totals["squared_bias"] + totals["variance"]
    # The bias's own noise is taken off, and 0 is its least value.
    np.testing.assert_allclose(parts, totals["squared_error"], rtol=1e-12)
    # The control variate moves a total by a few standard errors at most.
    off = np.abs(parts - plain.loc[parts.index])
    assert (off <= 6 * np.maximum(totals["standard_error"], 0.02 * parts)).all()
    assert totals.loc[("nnls", "sum"), "squared_bias"] > 3 * totals.loc[("nnls", "sum"), "variance"]


def test_bias_is_not_inflated_by_few_runs():
    schema = Schema(("cell",), (tuple(map(str, range(400))),))
    workload = parse_workload("sum, identity", schema)
    made = price_table(np.full(400, 1e4), schema, workload, PureDP(1.0), ["nnls"], runs=10)
    totals = made.totals.set_index(["method", "query_set", "metric"])
    row = totals.loc[("nnls", "identity", "total")]
    assert row["squared_bias"] < 0.05 * row["variance"]
    row = totals.loc[("ols", "identity", "total")]
    assert (row["squared_bias"], row["variance"]) == (0, row["squared_error"])


@pytest.mark.parametrize("runs", [2, 3, 40])
@pytest.mark.parametrize("asked", ["sum, marginals, identity", "one, identity"])
def test_one_quantity_has_one_value(runs, asked):
    schema = Schema(("one", "two"), (("x",), ("1", "2", "3")))
    made = price_table([[90, 1, 0]], schema, parse_workload(asked, schema), PureDP(0.5), runs=runs)
    shared = ["squared_error", "standard_error", "price", "price_error"]
    totals = made.totals.set_index(["method", "query_set", "metric"])
    for (method, name), own in every(made).groupby(["method", "query_set"]):
        worst = own.loc[own["squared_error"].idxmax(), shared].astype(float)
        # Where a query is the control's own, its standard error is the root of a rounding error.
        root = np.sqrt(np.finfo(float).eps) * worst["squared_error"]
        for metric in ("max", "total") if len(own) == 1 else ("max",):
            if (method, name, metric) in totals.index:
                told = totals.loc[(method, name, metric), shared].astype(float)
                np.testing.assert_allclose(told, worst, rtol=1e-9, atol=root)


def test_a_price_is_written_as_far_as_it_is_known():
    several = (1.3874, 0.0213, "1.387 ± 0.021"), (1234.5, 17.0, "1,234 ± 17")
    more = (0.5, 0.0, "0.5 (exact)"), (3.04, 0.96, "3.04 ± 0.96"), (1.0, np.nan, "1 ± ?")
    for value, error, text in (*several, *more):
        assert with_error(value, error) == text


def test_the_same_seed_gives_the_same_price(real):
    given = real[0].table, CODES, real[1], PureDP(0.5)
    one, again, other = (price_table(*given, runs=30, seed=seed) for seed in (1, 1, 3))
    pd.testing.assert_frame_equal(again.totals, one.totals)
    pd.testing.assert_frame_equal(every(again), every(one))
    assert not np.allclose(every(other)["bias"], every(one)["bias"])


def test_the_worst_queries_are_named(made):
    worst = made.worst(3)
    assert set(worst["method"]) == set(METHODS) - {"ols"}
    first = worst[worst["method"] == "nnls"].iloc[0]
    assert (first["query"], first["truth"]) == ("all records", 812)
    for method, part in worst.groupby("method"):
        own = every(made)[every(made)["method"] == method]["price"]
        np.testing.assert_array_equal(part["price"], own.sort_values(ascending=False)[:3])


def test_extreme_levels_are_priced():
    for epsilon in (1e-30, 1e-3, 1000.0):
        made = price_table([5, 0], *CELLS, PureDP(epsilon), runs=20)
        assert np.isfinite(made.totals["price"]).all()
        assert NOTICE in report(made, CELLS[1])


def test_everything_says_that_it_is_confidential(real, made):
    files = {name: b"".join(data) for name, data in price_files(made, real[1]).items()}
    for name, data in files.items():
        if name.endswith(".csv"):
            assert set(pd.read_csv(BytesIO(data))["notice"]) == {"CONFIDENTIAL"}
        elif not name.endswith(".png"):
            assert data.decode().startswith(NOTICE)
    pictures = {"prices.png", "bias_and_variance.png", "errors_by_count.png"}
    assert {n for n in files if n.endswith(".png")} == pictures
    for name in ("total_and_columns.csv", "queries.csv", "worst_queries.csv"):
        assert b'"bias","bias_error",' in files[name]
    assert len(pd.read_csv(BytesIO(files["queries.csv"]))) == len(every(made))
    table = summary(made)
    assert (len(table), list(table.columns[3:])) == (7, list(microdata_methods()))
    totals = made.totals.query("metric == 'total'").replace({"query_set": {"sum": "$%^$"}})
    shown = ((prices, totals), (bias_and_variance, totals), (errors_by_count, every(made)))
    for figure in (draw(data, "CONFIDENTIAL") for draw, data in shown):
        figure.draw_without_rendering()  # a query set's name is no formula
        titles = [figure.get_suptitle(), *(ax.get_title(loc="left") for ax in figure.axes)]
        assert "CONFIDENTIAL" in titles


def test_of_millions_of_points_one_in_each_place_is_drawn():
    """Each query has one within a step: a 400th of the root error, a 100th of asinh(truth)."""
    rng, n = np.random.default_rng(0), 200_000
    told = np.stack([np.floor(rng.gamma(0.3, 20, n)), rng.gamma(4, 2, n), np.full(n, 8.0)])
    made = SimpleNamespace(truth=told[0], ols=told[2], found={"nnls": told[[2, 2, 1, 2]]})
    drawn = _drawn(made, "nnls", slice(0, n))
    assert len(drawn) < n / 5
    step = np.array([[0.01], [np.sqrt(told[1].max()) / 400]])
    points, kept = told[:2], drawn[["truth", "squared_error"]].to_numpy().T
    places, those = (np.stack([np.arcsinh(x), np.sqrt(y)]) / step for x, y in (points, kept))
    assert cKDTree(those.T).query(places.T)[0].max() <= np.sqrt(2) * (1 + 1e-9)


def test_bad_input_is_refused():
    masked = {"table": np.ma.array([1, 2], mask=[0, 1])}
    few, negative = ({"runs": 1}, "runs is 1"), ({"seed": -1}, "the seed is -1")
    for change, message in (few, negative, (masked, "not a finite number")):
        given = {"table": [1, 2], "methods": METHODS, "runs": 10, **change}
        with pytest.raises(InputError, match=message):
            price_table(schema=TWO, workload=CELLS[1], guarantee=PureDP(1.0), **given)


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=5), st.booleans(), st.integers(0, 99))
def test_noise_that_rounding_drowns_is_refused_and_just_above_it_all_is_right(counts, pure, seed):
    methods = ("ols", "nnls", "reweighted", "sequential_ols", "consensus")
    kind = PureDP if pure else ConcentratedDP
    data = DataSet("mine", "own", counts, Workload.table(len(counts)))
    schema = Schema(("cell",), (tuple("abcde"[: len(counts)]),))
    unit = noise_for(data.workload, kind(1.0))[0].std / sum(counts)
    near, beyond = (kind((ratio * unit) ** kind.norm) for ratio in (0.999e11, 1.001e11))
    more = {"runs": 30, "rng": np.random.default_rng(seed)}
    for simulate in (
        lambda: price_table(counts, schema, data.workload, beyond, runs=30),
        lambda: evaluate(data, beyond, methods, **more),
        lambda: measure(counts, data.workload, beyond, **more),
    ):
        with pytest.raises(InputError, match="is lost in the rounding of 64-bit numbers; choose a"):
            simulate()
    errors = evaluate(data, near, methods, **more).errors.query("metric == 'total'")
    exact = errors[errors["method"] == "ols"].set_index("query_set")["exact"]
    np.testing.assert_allclose(errors["estimate_cv"], exact[errors["query_set"]], rtol=1e-3)


def written(path, schema, text):
    """Write a table and its schema beside it."""
    path.write_text(text)
    path.with_suffix(".schema.json").write_text(schema)
    return path


QUICK = ["--epsilon", "1", "--runs", "5", "--methods", "nnls"]


def test_the_command(tmp_path, capsys):
    """Also with letters that no font has, which is no warning."""
    places = Schema(("地区", "性别"), (("北方", "南方"), ("女", "男")))
    given = places.to_json(), counts_csv(places, [120, 150, 30, 75])
    words = ["price", written(tmp_path / "zh.csv", *given)]
    assert "no privacy level is given" in refused(capsys, *words)
    words = [*words, *QUICK, "--out", out := tmp_path / "out"]
    code, printed, error = run(capsys, *words)
    assert (code, error, "地区 = 北方" in printed) == (0, "", True)
    assert printed.startswith(NOTICE)
    assert out.stat().st_mode & 0o777 == 0o700
    assert all(p.stat().st_mode & 0o777 == 0o600 for p in out.iterdir())
    assert "exists already" in refused(capsys, *words)
    given = CODES.to_json(), counts_csv(CODES, data_set("PUMA0101301").table)
    words = ["price", written(tmp_path / "area.csv", *given), "--rho", "0.1", "--runs", "30"]
    code, printed, error = run(capsys, *words, "--methods", "nnls,ols", "--json")
    document = json.loads(printed)
    assert (code, error, next(iter(document.items()))) == (0, "", ("notice", NOTICE))
    assert {row["method"] for row in document["prices"]} == {"ols", "nnls"}
    assert document["prices"][0]["squared_error"] == pytest.approx(4 / 0.2 * 216 / 250, rel=1e-14)
    assert {row["variance"] for row in document["prices"] if row["metric"] == "max"} == {None}


def test_a_matrix_without_a_schema_or_only_some_rows_are_priced(tmp_path, capsys):
    (wide := tmp_path / "wide.csv").write_text("town,f,m\nx,3,4\ny,0,9\n")
    code, printed, said = run(capsys, "price", wide, *QUICK)
    assert (code, "town = y, column = m" in printed) == (0, True)
    assert "a matrix of 2 x 2 counts, 16 records" in said
    assert "add --schema" in refused(capsys, "price", wide, *QUICK, "--where", "town=x")
    for wrong in (["--share", "sum=2"], ["--workload", "x"], ["--seed", "-1"], ["--methods", "x"]):
        assert refused(capsys, "price", wide, *QUICK, *wrong).count("\n") == 1
    given = '{"columns": {"sex": ["f", "m"]}}', "area,sex\n1,f\n2,?\n1,m\n1,m\n"
    words = ["price", written(tmp_path / "persons.csv", *given), *QUICK, "--json"]
    code, printed, error = run(capsys, *words, "--where", "area=1")
    assert (code, error) == (0, "")
    told = {row["query"]: row["truth"] for row in json.loads(printed)["worst_queries"]}
    assert told == {"all records": 3, "sex = f": 1, "sex = m": 2}


def test_the_total_and_every_column_are_always_reported():
    schema = Schema(("a", "b"), tuple(tuple(f"{c}{k}" for k in range(12)) for c in "ab"))
    table = np.zeros((12, 12))
    table[0, 0] = 800
    workload = parse_workload("identity", schema)
    made = price_table(table, schema, workload, PureDP(1.0), ["nnls"], runs=200)
    always = made.always.set_index(["method", "query_set"])
    assert set(always.index.get_level_values("query_set")) == {"sum", "a", "b"}
    assert not always["asked"].any()
    nnls = always.loc[("nnls", "sum")]
    # Each of the 143 empty cells is clipped by itself: half of noise of mean size 1, its square 1.
    assert abs(nnls["bias"] - 143 * 0.5) < 5 * np.sqrt((143 * 0.75 + 2) / 200)
    assert nnls["standard_error"] == pytest.approx(nnls["bias_error"], rel=0.1)  # nearly all bias
    assert nnls["query"] == "all records"
    said = report(made, workload)
    assert said.count("not asked") == 6
    assert f"{nnls['bias']:+.2f} ± {nnls['bias_error']:.2f}" in said
    assert abs(nnls["bias_error"] / np.sqrt((143 * 0.75 + 2) / 200) - 1) < 0.3


@pytest.mark.parametrize(
    "asked", ["sum, marginals, identity", "identity", "a*b, sum", "a, identity", "a", "sum"]
)
def test_what_is_known_is_told_alike_in_every_table_and_file(asked):
    schema = Schema(("a", "b"), (("x", "y"), ("1", "2", "3")))
    workload = parse_workload(asked, schema)
    made = price_table([[9, 1, 0], [40, 2, 0]], schema, workload, PureDP(0.5), runs=60, seed=4)
    totals = made.totals[made.totals["metric"] == "total"].set_index(["method", "query_set"])
    size = {"sum": 1, "a": 2, "b": 3}
    # Totals: six cells alone have 8 each; of 32 in a and in the cells 3/4 is left, 24 in each.
    left = {"identity": (6 * 8,) * 3, "a, identity": (2 * 24, 2 * 24, 6 * 24)}
    for row in made.always.to_dict("records"):
        square = row["root_error"] ** 2 * size[row["query_set"]]
        if row["asked"]:
            told = totals.loc[(row["method"], row["query_set"])]
            assert square == pytest.approx(told["squared_error"], rel=1e-12)
            first_order = told["standard_error"] / (2 * row["root_error"] * size[row["query_set"]])
            assert row["standard_error"] == pytest.approx(first_order, rel=1e-12)
        # The cells, or a finer marginal, settle a coarser one; nothing settles a finer one.
        settled = row["asked"] or "a*b" in asked or "identity" in asked or row["query_set"] == "sum"
        known = row["method"] == "ols" and settled
        assert (row["bias_error"] == 0) == known
        assert known <= (row["bias"] == row["standard_error"] == 0)
        if known and asked in left:
            assert square == pytest.approx(left[asked][size[row["query_set"]] - 1])
    signed = every(made)["method"] == "ols"
    assert (every(made).loc[signed, ["bias", "bias_error"]] == 0).all().all()
    assert (every(made).loc[~signed, "bias_error"] > 0).all()
    assert report(made, workload).count("0 (exact)") >= int((made.always["bias_error"] == 0).sum())


TRACTS = Schema(
    ("tract", "age"),
    (("b1", "a1", "a2"), ("child", "adult")),
    groups=(Group("county", "tract", ("A", "B"), (("a2", "a1"), ("b1",))),),
    impossible=((("age", ("child",)), ("tract", ("a2",))),),
)


@pytest.mark.parametrize(
    ("schema", "asked"),
    [(TRACTS, "sum, county, tract, county*age, identity"), (ODD, "identity; method*query; price")],
)
def test_every_query_is_named_by_what_it_counts(schema, asked):
    """Groups, impossible combinations and odd names: each true count, from the cells themselves."""
    counts = np.array([2**k for k in range(schema.cells)])
    workload = parse_workload(asked, schema)
    given = counts.reshape(schema.shape), schema, workload, ConcentratedDP(0.1)
    made = price_table(*given, runs=20)
    cells = schema.frame().assign(county=schema.frame().get("tract", pd.Series([""])).str[0])
    cells["county"] = cells["county"].str.upper()
    assert len(made.of("nnls")) == sum(q.size for q in workload.query_sets)
    for row in every(made).to_dict("records"):
        mine = np.ones(len(cells), dtype=bool)
        for part in row["query"].split(", ") if row["query"] != "all records" else ():
            column, _, value = part.partition(" = ")
            mine &= cells[column] == value
        assert counts[mine].sum() == row["truth"]
    shown = made.always
    assert set(shown["query_set"]) == {"sum", *schema.names}
    assert {"all records", "every query"} <= set(shown.loc[shown["method"] == "ols", "query"])


@pytest.mark.parametrize("counts", [[3, 400], [7, 400], [15, 400]])
def test_what_runs_did_not_show_is_not_called_known(counts):
    """Clipping is rare here: few runs or none differ from signed answers, and many do somewhat."""
    given = (counts, *CELLS, PureDP(1.0), ["nnls", "maxfit"])
    long = price_table(*given, runs=10_000, seed=1)
    for made in (price_table(*given, runs=50), price_table(*given, runs=400)):
        for a, b in zip(made.totals.itertuples(), long.totals.itertuples(), strict=True):
            if a.method != "ols":
                assert a.price_error > 0
                assert abs(a.price - b.price) <= 5 * a.price_error + 5 * b.price_error
                assert "exact" not in with_error(a.price, a.price_error)
        assert "of the plain mean\nwhere few runs differ from signed" in report(made, CELLS[1])


@pytest.mark.parametrize("runs", [2, 3])
def test_few_runs_leave_no_error_of_zero_or_less(runs):
    """With two runs an answer may err twice by the same amount: nothing is known of its error."""
    for seed in range(5):
        given = np.zeros((2, 2, 3)), ODD, parse_workload(DEFAULT, ODD), PureDP(1.0), ["nnls"]
        made = price_table(*given, runs=runs, seed=seed)
        assert (made.totals["squared_error"] >= 0).all(), seed
        micro = every(made)[every(made)["method"] == "nnls"]
        assert not (micro[["standard_error", "bias_error"]] == 0).to_numpy().any()
        assert "exact" not in "".join(summary(made)["nnls"])


@pytest.mark.parametrize("shares", [{"sum": 0.7}, {"sum": 0.1, "identity": 0.6}])
def test_the_price_of_a_split_rests_on_its_noise(shares):
    table = [[300, 200], [400, 250], [500, 600]], Schema(("a", "b"), (("1", "2", "3"), ("x", "y")))
    workload, given = parse_workload(DEFAULT, table[1]), {"runs": 400, "seed": 1, "shares": shares}
    made = price_table(*table, workload, PureDP(1.0), ["nnls"], **given)
    rest = (1 - sum(shares.values())) / (4 - len(shares))
    split = [shares.get(n, rest) for n in workload.names]
    assert made.split == pytest.approx(split)
    exact = ols_variances(workload, [n.variance for n in noise_for(workload, PureDP(1.0), split)])
    totals = made.totals[made.totals["metric"] == "total"].set_index(["method", "query_set"])
    for name, values in zip(workload.names, exact, strict=True):
        assert totals.loc[("ols", name), "squared_error"] == pytest.approx(values.sum())
        # Cells far from zero: nonnegative least squares is least squares.
        row = totals.loc[("nnls", name)]
        assert row["price"] == pytest.approx(1, abs=0.01 + 5 * row["price_error"])


@pytest.mark.parametrize("stopped", [False, True])
def test_counts_of_records_come_with_their_schema_also_when_a_stop_is_asked_for(
    tmp_path, capsys, monkeypatch, stopped
):
    write = price_commands.write_whole
    ask = (lambda: os.kill(os.getpid(), signal.SIGINT)) if stopped else bool
    monkeypatch.setattr(price_commands, "write_whole", lambda *x, new: (ask(), write(*x, new=new)))
    (persons := tmp_path / "p.csv").write_text("sex,age\nf,1\nm,2\nf,3\nx,4\n")  # f is half
    given = tmp_path / "s.json"
    given.write_text('{"columns": {"sex": ["m", "f", "x"]}, "ignore": ["age"]}')
    words = ["tabulate", persons, "--schema", given, "--out", out := tmp_path / "t.csv"]
    full = Mock(side_effect=[write, OSError(28, "No space left on device")])
    with monkeypatch.context() as once:  # between its two files
        once.setattr(price_commands, "write_whole", lambda *given, new: full()(*given, new=new))
        assert "no room left" in refused(capsys, *words)
    assert run(capsys, *words)[0] == (130 if stopped else 0)
    beside = load_schema(schema_path(tmp_path / "t.csv.gz"))  # also of one that is packed
    np.testing.assert_array_equal(read_table(out, beside), [1, 2, 1])
    assert "exists already and is never overwritten" in refused(capsys, *words)
    monkeypatch.setattr(price_commands, "write_whole", write)
    monkeypatch.setattr(price_commands, "check_new", bool)  # as if it was made in the meantime
    assert "File exists" in refused(capsys, *words)
    for other in ("u.csv.gz", "u.parquet"):
        asked = *words[:-1], tmp_path / other
        assert f"is CSV; name it {tmp_path / 'u.csv'}\n" in refused(capsys, *asked)
    assert {p.name for p in tmp_path.iterdir()} == {"p.csv", "s.json", "t.csv", "t.schema.json"}
