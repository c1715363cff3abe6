"""The price of a table: right numbers, the notice on everything, the command."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from command_line import run
from microdata_price.commands import price as price_command
from microdata_price.exceptions import InputError
from microdata_price.fitting import METHODS, microdata_methods
from microdata_price.model.benchmark import data_set
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.workload import Workload
from microdata_price.page.style import METHODS as STYLES
from microdata_price.release.price import price_table, query_label
from microdata_price.release.price_files import NOTICE, _with_error, price_files, report, summary
from microdata_price.tables.schema import Schema
from microdata_price.tables.table_text import table_text
from microdata_price.tables.workload_text import DEFAULT, parse_workload


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Announce no long simulation, as a busy machine would."""
    monkeypatch.setattr(price_command, "seconds_about", lambda *_: 0.0)


CODES = Schema(("RAC1P", "HISP"), (tuple(map(str, range(1, 10))), tuple(map(str, range(1, 25)))))
ODD = Schema(("method", "price", "query"), (("nnls", "total"), ("a", "b"), ("1", "2", "3")))


@pytest.fixture(scope="module")
def real():
    data = data_set("PUMA0101301")
    workload = parse_workload(DEFAULT, CODES)
    return data, workload, price_table(data.table, CODES, workload, PureDP(0.5), runs=500, seed=1)


def test_what_is_known_exactly_is_exact(real):
    data, _, made = real
    totals = made.totals.set_index(["method", "query_set", "metric"])
    # 9 x 24 with sum, marginals and cells at b = 8: 128 * 216/250 for each query.
    assert totals.loc[("ols", "sum", "total"), "squared_error"] == pytest.approx(110.592)
    assert totals.loc[("ols", "HISP", "max"), "squared_error"] == pytest.approx(110.592)
    b, q = 8.0, data.table.sum()
    exact = 2 * b**2 - np.exp(-q / b) * (q * b + b**2)
    row = totals.loc[("sequential", "sum", "total")]
    assert row["squared_error"] == pytest.approx(exact)
    assert row["standard_error"] == 0
    assert (totals["ols"] > 0).all()
    np.testing.assert_allclose(totals["price"], totals["squared_error"] / totals["ols"])


def test_estimates_agree_with_a_long_run(real):
    data, workload, made = real
    long = price_table(data.table, CODES, workload, PureDP(0.5), runs=4000, seed=2)
    both = made.totals.merge(long.totals, on=["method", "query_set", "metric"])
    both = both[both["metric"] == "total"]
    error = np.hypot(both["standard_error_x"], both["standard_error_y"])
    # A sum that is the control's own is known up to rounding alone.
    error += 1e-12 * both["squared_error_y"]
    assert (np.abs(both["squared_error_x"] - both["squared_error_y"]) <= 6 * error).all()


def test_bias_and_variance_add_up_to_the_error(real):
    made = real[2]
    queries = made.queries
    np.testing.assert_allclose(
        queries["bias"] ** 2 + queries["variance"], queries["squared_error"], rtol=1e-9
    )
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
    """Where no cell is near zero no method has a bias; ten runs show a tenth of the variance."""
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
    """A query that is a set of its own, the worst query of a set, and everything of OLS."""
    schema = Schema(("one", "two"), (("x",), ("1", "2", "3")))
    workload = parse_workload(asked, schema)
    made = price_table([[90, 1, 0]], schema, workload, PureDP(0.5), runs=runs)
    shared = ["squared_error", "standard_error", "price", "price_error"]
    totals = made.totals.set_index(["method", "query_set", "metric"])
    for (method, name), own in made.queries.groupby(["method", "query_set"]):
        worst = own.loc[own["squared_error"].idxmax(), shared].astype(float)
        metric = "max" if (method, name, "max") in totals.index else "total"
        told = totals.loc[(method, name, metric), shared].astype(float)
        # Where a query is the control's own, its standard error is the root of a rounding error.
        root = np.sqrt(np.finfo(float).eps) * worst["squared_error"]
        np.testing.assert_allclose(told, worst, rtol=1e-9, atol=root)
        if len(own) == 1:
            told = totals.loc[(method, name, "total"), shared].astype(float)
            np.testing.assert_allclose(told, worst, rtol=1e-9, atol=root)
        if method == "ols":
            assert (own["bias"] == 0).all()
            np.testing.assert_array_equal(own["variance"], own["ols"])
            np.testing.assert_array_equal(own["squared_error"], own["ols"])
            assert (own["standard_error"] == 0).all()


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (1.3874, 0.0213, "1.387 ± 0.021"),
        (0.5, 0.0, "0.5 (exact)"),
        (1234.5, 17.0, "1,234 ± 17"),
        (3.04, 0.96, "3.04 ± 0.96"),
        (1.0, 1e-9, "1.000 ± 1e-09"),
    ],
)
def test_a_price_is_written_as_far_as_it_is_known(value, error, text):
    assert _with_error(value, error) == text


def test_the_same_seed_gives_the_same_price(real):
    data, workload, made = real
    again = price_table(data.table, CODES, workload, PureDP(0.5), runs=500, seed=1)
    pd.testing.assert_frame_equal(again.totals, made.totals)
    pd.testing.assert_frame_equal(again.queries, made.queries)
    other = price_table(data.table, CODES, workload, PureDP(0.5), runs=500, seed=3)
    assert not np.allclose(other.queries["bias"], made.queries["bias"])


def test_the_worst_queries_are_named(real):
    made = real[2]
    worst = made.worst(3)
    assert set(worst["method"]) == set(METHODS) - {"ols"}
    first = worst[worst["method"] == "nnls"].iloc[0]
    assert (first["query"], first["truth"]) == ("all records", 812)
    for method, part in worst.groupby("method"):
        own = made.queries[made.queries["method"] == method]["price"]
        np.testing.assert_array_equal(part["price"], own.sort_values(ascending=False)[:3])


def test_any_names_of_columns_and_any_workload_do():
    workload = parse_workload("identity; method*query; price", ODD)
    table = np.arange(12.0).reshape(2, 2, 3)
    made = price_table(table, ODD, workload, ConcentratedDP(0.1), ["nnls"], runs=20)
    assert list(made.queries["query"].iloc[12:14]) == [
        "method = nnls, query = 1",
        "method = nnls, query = 2",
    ]
    truth = np.concatenate(workload.answers(table))
    np.testing.assert_array_equal(made.queries["truth"], np.tile(truth, 2))
    files = price_files(made, workload)
    assert len(files) == 8
    assert query_label(ODD, ("", "", "")) == "all records"


@pytest.mark.parametrize("epsilon", [1e-3, 1000.0])
def test_extreme_levels_are_priced(epsilon):
    schema = Schema(("cell",), (("a", "b", "c"),))
    workload = parse_workload("sum, identity", schema)
    made = price_table([5, 0, 0], schema, workload, PureDP(epsilon), runs=20)
    assert np.isfinite(made.totals["price"]).all()
    assert NOTICE in report(made, workload)


def test_everything_says_that_it_is_confidential(real):
    _, workload, made = real
    files = price_files(made, workload)
    for name, data in files.items():
        if name.endswith(".png"):
            assert data.startswith(b"\x89PNG")
        else:
            assert data.decode().splitlines()[0].lstrip("# ") == NOTICE
    assert {n for n in files if n.endswith(".png")} == {
        "prices.png",
        "bias_and_variance.png",
        "errors_by_count.png",
    }


def test_pictures_bear_the_notice(real):
    from microdata_price.figures.price import bias_and_variance, errors_by_count, prices

    made = real[2]
    totals = made.totals[made.totals["metric"] == "total"]
    for figure in (
        prices(totals, "CONFIDENTIAL"),
        bias_and_variance(totals, "CONFIDENTIAL"),
        errors_by_count(made.queries, "CONFIDENTIAL"),
    ):
        titles = [figure.get_suptitle(), *(ax.get_title(loc="left") for ax in figure.axes)]
        assert "CONFIDENTIAL" in titles


def test_pictures_show_the_computed_numbers(real):
    from microdata_price.figures.price import prices

    made = real[2]
    totals = made.totals[made.totals["metric"] == "total"]
    (ax,) = prices(totals).axes
    drawn = {c.get_label(): np.asarray(c.lines[0].get_xdata(), dtype=float) for c in ax.containers}
    for method in ("nnls", "reweighted"):
        expected = totals[totals["method"] == method]["price"]
        np.testing.assert_allclose(drawn[STYLES[method].label], expected)


def test_the_summary_has_every_query_set_and_method(real):
    made = real[2]
    shown = summary(made)
    assert list(shown.columns[3:]) == list(microdata_methods())
    assert len(shown) == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methods": ["nlns"]}, "did you mean"),
        ({"runs": 1}, "runs is 1"),
        ({"seed": -1}, "the seed is -1"),
        ({"table": [1, 2]}, "shape"),
        ({"table": [1, 2, np.nan]}, "not a finite number"),
        ({"schema": Schema(("c",), (("1", "2", "3"),), weighted=True)}, "is weighted"),
    ],
)
def test_bad_input_is_refused(change, message):
    schema = Schema(("c",), (("1", "2", "3"),))
    given = {"table": [1, 2, 3], "schema": schema, "methods": METHODS, "runs": 10, **change}
    with pytest.raises(InputError, match=message):
        price_table(
            given.pop("table"),
            given.pop("schema"),
            parse_workload(DEFAULT, schema),
            PureDP(1.0),
            given.pop("methods"),
            **given,
        )


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "area.csv"
    path.write_text(table_text(CODES, data_set("PUMA0101301").table.astype(int)))
    return path


def test_the_command(table, capsys):
    out = table.parent / "out"
    words = [table, "--epsilon", "0.5", "--runs", "30", "--out", out]
    code, printed, error = run(capsys, "price", *words)
    assert (code, error) == (0, "")
    assert printed.startswith(NOTICE)
    assert out.stat().st_mode & 0o777 == 0o700
    assert all(p.stat().st_mode & 0o777 == 0o600 for p in out.iterdir())
    code, printed, error = run(capsys, "price", *words)
    assert (code, printed) == (2, "")
    assert "exists already" in error
    code, printed, error = run(
        capsys, "price", table, "--rho", "0.1", "--runs", "30", "--methods", "nnls,ols", "--json"
    )
    assert (code, error) == (0, "")
    document = json.loads(printed)
    assert next(iter(document)) == "notice"
    assert document["notice"] == NOTICE
    assert {row["method"] for row in document["prices"]} == {"ols", "nnls"}
    first = document["prices"][0]
    assert first["squared_error"] == pytest.approx(4 / 0.2 * 216 / 250, rel=1e-14)
    worst = [row for row in document["prices"] if row["metric"] == "max"]
    assert worst
    assert all(row["variance"] is None for row in worst)


def test_the_command_finds_schemas_and_refuses_weights(table, capsys):
    weighted = Schema(CODES.columns, CODES.values, weighted=True)
    short = [table, "--epsilon", "0.5", "--runs", "5", "--methods", "nnls"]
    beside = table.parent / "area.schema.json"
    beside.write_text(weighted.to_json())
    code, printed, error = run(capsys, "price", *short)
    assert (code, printed) == (2, "")
    assert "weighted table" in error
    beside.unlink()
    table.write_text(table_text(weighted, data_set("PUMA0101301").table.astype(int)))
    code, printed, error = run(capsys, "price", *short)
    assert (code, printed) == (2, "")
    assert "weighted table" in error
    wide = table.parent / "wide.csv"
    wide.write_text("town,f,m\nx,3,4\ny,0,9\n")
    code, printed, _ = run(
        capsys, "price", wide, "--epsilon", "1", "--runs", "5", "--methods", "nnls"
    )
    assert code == 0
    assert "town = y, column = m" in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no privacy level is given"),
        (["--epsilon", "1", "--runs", "0"], "runs is 0"),
        (["--epsilon", "1", "--methods", "nnls,x"], "no method 'x'"),
        (["--epsilon", "1", "--workload", "sum,AGEP"], "'AGEP'"),
    ],
)
def test_what_the_command_refuses(table, capsys, words, message):
    code, printed, error = run(capsys, "price", table, *words)
    assert (code, printed) == (2, "")
    assert message in error


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
    assert nnls["root_error"] >= nnls["bias"]
    assert nnls["query"] == "all records"
    signed = always.loc[("ols", "sum")]
    assert signed["root_error"] == pytest.approx(np.sqrt(144 * 2), rel=1e-12)
    assert (signed["standard_error"], signed["bias"], signed["bias_error"]) == (0, 0, 0)
    said = report(made, workload)
    assert said.count("not asked") == 6
    assert f"{nnls['bias']:+.2f} ± {nnls['bias_error']:.2f}" in said
    assert abs(nnls["bias_error"] / np.sqrt((143 * 0.75 + 2) / 200) - 1) < 0.3
    assert "for one number by itself" in said
    assert "at once" in said
    asked = price_table(
        table, schema, parse_workload("sum, a, identity", schema), PureDP(1.0), ["nnls"], runs=20
    )
    found = asked.always[asked.always["method"] == "nnls"].set_index("query_set")["asked"]
    assert found.to_dict() == {"sum": True, "a": True, "b": False}
    # What is asked is told alike in both tables.
    total = asked.totals.set_index(["method", "query_set", "metric"]).loc[("nnls", "sum", "total")]
    root = asked.always.set_index(["method", "query_set"]).loc[("nnls", "sum"), "root_error"]
    assert root**2 == pytest.approx(total["squared_error"], rel=1e-12)


@pytest.mark.parametrize("asked", ["sum, marginals, identity", "identity", "a*b, sum", "a", "sum"])
def test_what_is_known_is_told_alike_in_every_table_and_file(asked):
    """Signed answers have no bias, and an exact error, wherever what was asked settles them."""
    schema = Schema(("a", "b"), (("x", "y"), ("1", "2", "3")))
    workload = parse_workload(asked, schema)
    made = price_table([[9, 1, 0], [40, 2, 0]], schema, workload, PureDP(0.5), runs=60, seed=4)
    totals = made.totals[made.totals["metric"] == "total"].set_index(["method", "query_set"])
    size = {"sum": 1, "a": 2, "b": 3}
    for row in made.always.to_dict("records"):
        square = row["root_error"] ** 2 * size[row["query_set"]]
        if row["asked"]:
            told = totals.loc[(row["method"], row["query_set"])]
            assert square == pytest.approx(told["squared_error"], rel=1e-12)
            assert (row["standard_error"] == 0) == (told["standard_error"] == 0)
        # The cells, or a finer marginal, settle a coarser one; nothing settles a finer one.
        settled = row["asked"] or "a*b" in asked or "identity" in asked or row["query_set"] == "sum"
        known = row["method"] == "ols" and settled
        assert (row["bias_error"] == 0) == known
        assert known <= (row["bias"] == row["standard_error"] == 0)
    signed = made.queries["method"] == "ols"
    assert (made.queries.loc[signed, ["bias", "bias_error"]] == 0).all().all()
    assert (made.queries.loc[~signed, "bias_error"] > 0).all()
    exact = report(made, workload).count("0 (exact)")
    assert exact >= int((made.always["bias_error"] == 0).sum())
    for name in ("total_and_columns.csv", "queries.csv", "worst_queries.csv"):
        assert b",bias,bias_error," in price_files(made, workload)[name]


def test_errors_of_signed_answers_that_were_not_asked_agree_with_a_long_run():
    schema = Schema(("a", "b"), (("x", "y"), ("1", "2", "3")))
    made = price_table(
        [[9, 1, 0], [40, 2, 0]],
        schema,
        parse_workload("a, identity", schema),
        PureDP(0.5),
        ["ols"],
        runs=6000,
    )
    root = made.always.set_index("query_set")["root_error"]
    noise = 2 * 4.0**2  # of each answer, at half of the budget
    assert root["a"] ** 2 == pytest.approx(noise * 3 / 4)
    assert root["sum"] ** 2 == pytest.approx(noise * 2 * 3 / 4)
    cells = made.queries[made.queries["query_set"] == "identity"]["squared_error"].iloc[0]
    # A value of b is two cells of different values of a, whose errors are independent.
    assert root["b"] ** 2 == pytest.approx(2 * cells)


def test_signed_answers_alone_have_a_table_too():
    schema = Schema(("a",), (("x", "y"),))
    workload = parse_workload("sum, identity", schema)
    made = price_table([3, 4], schema, workload, PureDP(1.0), ["ols"], runs=5)
    said = report(made, workload)
    assert "Empty" not in said
    assert "signed answers" in said
    assert f"{made.totals['ols'].iloc[0]:.5g}" in said


@pytest.mark.parametrize(("seconds", "said"), [(0.01, ""), (40.0, "40 seconds"), (900.0, "15 min")])
def test_a_long_simulation_says_beforehand_how_long_it_takes(
    capsys: pytest.CaptureFixture[str], seconds: float, said: str
) -> None:
    price_command._say_how_long(seconds, 1000)
    message = capsys.readouterr().err
    assert said in message
    assert bool(message) == bool(said)


@pytest.mark.parametrize("side", [3, 20, 60, 250])
@pytest.mark.parametrize("cold", [0.0, 1.0])
@pytest.mark.parametrize(("batch", "run"), [(0.02, 0.0005), (0.5, 0.025), (0.001, 2.0), (5, 0.1)])
def test_the_time_that_is_announced_is_about_right(monkeypatch, side, cold, batch, run):
    """A batch costs something by itself, each run something, and the first what is done once."""
    from microdata_price.release import price as pricing

    table, workload = np.ones((side, side)), Workload.table((side, side))
    clock = [0.0]
    seen = []

    def fit_block(*given):
        count = given[4]
        clock[0] += batch + run * count + (0 if seen else cold)
        seen.append(count)

    monkeypatch.setattr(pricing, "fit_block", fit_block)
    monkeypatch.setattr(pricing, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    for runs in (40, 1000):
        size = min(pricing.block_size(workload), runs)
        true = -(-runs // size) * batch + runs * run
        clock[0] = 0.0
        seen.clear()
        said = pricing.seconds_about(table, workload, PureDP(0.5), ["nnls"], runs, 10.0)
        if said >= 10:
            assert true / 3 <= said <= 3 * true
        else:
            assert true < 30
        assert max(seen) <= size
        # To find it out takes little beside the simulation, or little altogether.
        assert clock[0] <= cold + max(10, 7 * (batch + run))


def test_a_first_run_is_enough_for_a_short_simulation() -> None:
    from microdata_price.release.price import seconds_about

    table, workload = np.arange(12).reshape(3, 4), Workload.table((3, 4))
    assert seconds_about(table, workload, PureDP(0.5), ["nnls"], 10, 1e9) > 0
