"""Releases: what they claim, what their files hold, and what they never see."""

import ast
import csv
import dataclasses
import gc
import hashlib
import inspect
import json
import re
import weakref
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microdata_price
from command_line import run
from microdata_price.exceptions import InputError
from microdata_price.fitting import METHODS, RECOMMENDED
from microdata_price.model.benchmark import data_set
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.workload import Workload
from microdata_price.release import measure as release_measure
from microdata_price.release import publish, release, release_again
from microdata_price.release import run as release_module
from microdata_price.release.budget import add_up
from microdata_price.release.files import release_files
from microdata_price.release.fit import finish
from microdata_price.release.manifest import _own_checksum, load_entry
from microdata_price.release.measure import measure_privately, plan_release
from microdata_price.release.mechanism import mechanism_for, root_above
from microdata_price.tables.csv_files import read_table
from microdata_price.tables.schema import Schema, load_schema
from microdata_price.tables.table_text import table_text
from microdata_price.tables.workload_text import DEFAULT, parse_workload

SCHEMA = Schema(("region", "sex"), (("north", "south", "west"), ("f", "m")))
TABLE = np.array([[30.0, 0.0], [1.0, 20.0], [0.0, 12.0]])
WORKLOAD = parse_workload(DEFAULT, SCHEMA)


def measured(table=TABLE, schema=SCHEMA, workload=WORKLOAD, guarantee=None, **more):
    return measure_privately(table, schema, workload, guarantee or PureDP(1.0), **more)


def answered_by(rule, **kwargs):
    """A measurement whose mechanism adds what a rule says: only for what follows from it."""
    m = measured(**kwargs)
    rules = (rule,) * len(m.answers)
    return dataclasses.replace(m, mechanism=dataclasses.replace(m.mechanism, add_noise=rules))


def resealed(document):
    """A manifest whose own checksum is made anew after a change."""
    return {**document, "checksum": _own_checksum(document)}


def read(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


# What is claimed


@given(
    epsilon=st.floats(1e-5, 60.0),
    rho=st.floats(1e-9, 60.0),
    sides=st.lists(st.integers(1, 3), min_size=1, max_size=4),
)
@settings(max_examples=100)
def test_the_librarys_claim_never_exceeds_what_was_asked(epsilon, rho, sides):
    workload = Workload.table(tuple(sides))
    sets = len(workload.query_sets)
    for asked, sensitivity in (
        (PureDP(min(epsilon, 2.0 * sets)), float(sets)),
        (ConcentratedDP(min(rho, 1.5 * sets)), np.sqrt(sets)),
    ):
        made = mechanism_for(workload, asked)
        want = asked.level
        got = made.guarantee.level
        assert type(made.guarantee) is type(asked)
        assert want * (1 - 1e-12) <= got <= want
        # The same from the paper's Theorems 1 and 2, without the library.
        assert len(set(made.scales)) == 1
        own = sensitivity / made.scales[0]
        own = own if isinstance(asked, PureDP) else own**2 / 2
        assert got == pytest.approx(own, rel=1e-12)
        assert min(made.variances) > 0


@given(st.integers(1, 10**12))
def test_roots_are_rounded_upwards(number):
    root = root_above(number)
    exact = root.as_integer_ratio()
    assert exact[0] ** 2 >= number * exact[1] ** 2
    assert root == pytest.approx(np.sqrt(number), rel=1e-15)


@pytest.mark.parametrize(
    ("guarantee", "message"),
    [
        (PureDP(81.0), "epsilon is 81, which would leave next to no noise"),
        (PureDP(1e30), "next to no noise"),
        (PureDP(12.0), "below 0.5 nothing is released"),
        (PureDP(5.0), "less than one record: that is weak protection"),
        (ConcentratedDP(80.5), "below 0.5 nothing is released"),
        (ConcentratedDP(3.0), "say --weak-protection"),
        (PureDP(1e-10), r"would need noise of 4e\+10 counts"),
        (PureDP(1e-30), "would need noise"),
        (ConcentratedDP(1e-30), "more must be spent"),
    ],
)
def test_budgets_without_sense_are_refused(guarantee, message):
    with pytest.raises(InputError, match=message):
        plan_release(SCHEMA, WORKLOAD, guarantee)


def test_tables_whose_sums_are_not_exact_are_refused():
    with pytest.raises(InputError, match=r"more than 1e\+15 records"):
        measured(np.full((3, 2), 5e14))


# What is never seen


SOURCES = Path(microdata_price.__file__).parent
FORBIDDEN = (
    "model.measurement.measure",
    "model.noise",
    "model.noise.Laplace",
    "model.noise.Gaussian",
)
AFTER = (
    "release/fit",
    "release/report",
    "release/candidates",
    "release/files",
    "release/readme",
    "release/plain_words",
    "release/text",
    "release/keep",
    "release/manifest",
    "release/ledger",
    "release/rounding",
    "release/budget",
    "tables/table_text",
    "base/files",
)


def tree(name):
    return ast.parse((SOURCES / f"{name}.py").read_text())


def imported(name):
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{a.name}" for a in node.names)
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names)


@pytest.mark.parametrize("name", ["release/run", "release/measure", *AFTER])
def test_no_release_module_touches_another_source_of_randomness(name):
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Attribute):
            assert node.attr not in ("random", "sample", "default_rng", "seed", "rvs"), name
    for what in imported(name):
        assert "random" not in what
        assert what not in FORBIDDEN


@pytest.mark.parametrize("name", AFTER)
def test_what_comes_after_the_measurement_cannot_read_a_table(name):
    readers = ("csv_files", "measure_file", "measure_privately", "read_table", "pums")
    assert not [w for w in imported(name) for r in readers if r in w]
    names = [n.id for n in ast.walk(tree(name)) if isinstance(n, ast.Name)]
    assert not {"open", "read_table", "measure_file"} & set(names)


def test_what_comes_after_the_measurement_is_given_nothing_else():
    later = ["draws", "progress"]
    assert list(inspect.signature(finish).parameters) == ["measured", "method", *later]
    assert list(inspect.signature(publish).parameters) == ["measured", "method", "out", *later]
    fields = {f.name for f in dataclasses.fields(release_measure.Measured)}
    assert fields == {"identity", "schema", "workload", "columns", "answers", "mechanism"}
    with pytest.raises(ValueError, match="read-only"):
        measured().answers[0][0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        measured().answers = ()


def test_a_release_works_with_numpys_generators_out_of_order(tmp_path, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("a release drew from numpy")

    for name in ("default_rng", "seed", "laplace", "normal", "random", "Generator", "geometric"):
        monkeypatch.setattr(np.random, name, refuse)
    table = tmp_path / "t.csv"
    table.write_text(table_text(SCHEMA, TABLE.astype(int)))
    for method in METHODS:
        made = release(table, SCHEMA, WORKLOAD, PureDP(1.0), method, tmp_path / method)
        assert made.certificate <= 1e-7
        assert (tmp_path / method / "README.txt").is_file()


def test_the_true_table_is_gone_before_anything_is_fitted(tmp_path, monkeypatch):
    """The file is swapped and the array dead by the time the measurement is handed on."""
    path = tmp_path / "t.csv"
    path.write_text(table_text(SCHEMA, TABLE.astype(int)))
    alive = []
    kept = []

    def watched(*args):
        table = read_table(*args)
        alive.append(weakref.ref(table))
        return table

    def swapped(measured, method, *rest):
        gc.collect()
        assert [ref() for ref in alive] == [None]
        path.write_text(table_text(SCHEMA, 7 * TABLE.astype(int) + 1000))
        kept.append(measured)
        return finish(measured, method, *rest)

    monkeypatch.setattr(release_measure, "read_table", watched)
    monkeypatch.setattr(release_module, "finish", swapped)
    weak = release_module.Options(weak=True)
    made = release(path, SCHEMA, WORKLOAD, PureDP(5.0), "nnls", tmp_path / "out", weak)
    assert len(alive) == 1
    # Noise of variance below 1 cannot hide a swap: this is the first table.
    assert np.abs(made.rounded.table - TABLE).max() < 60
    again = publish(kept[0], "nnls", tmp_path / "again")
    np.testing.assert_array_equal(made.weights, again.weights)
    for name in (
        "measurements.csv",
        "table_weighted.csv",
        "table_integer.csv",
        "records.csv",
        "records.parquet",
        "schema.json",
    ):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_the_files_are_a_function_of_the_measurement(tmp_path):
    """Two true tables that give one measurement give the same folder, byte for byte."""

    def fixed(answers):
        return [7 + k % 5 for k in range(len(answers))]

    first = answered_by(fixed)
    answers = first.mechanism.noisy(first.answers)
    one = dataclasses.replace(first, answers=answers, identity="0")
    other = dataclasses.replace(answered_by(fixed, table=50 * TABLE), answers=answers, identity="0")
    for name, m in (("one", one), ("other", other)):
        publish(m, "sequential", tmp_path / name)
    assert sorted(p.name for p in (tmp_path / "one").iterdir()) == sorted(
        p.name for p in (tmp_path / "other").iterdir()
    )
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "other" / path.name).read_bytes()


# What the files hold


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("guarantee", [PureDP(0.5), ConcentratedDP(0.125)])
def test_sums_marginals_and_records_agree(tmp_path, method, guarantee):
    data = data_set("PUMA3603710")
    codes = (tuple(map(str, range(1, 10))), tuple(map(str, range(1, 25))))
    schema = Schema(("RAC1P", "HISP"), codes)
    workload = parse_workload(DEFAULT, schema)
    m = measure_privately(data.table, schema, workload, guarantee)
    made = publish(m, method, tmp_path / "out")
    out = tmp_path / "out"
    assert load_schema(out / "schema.json") == schema
    assert load_entry(out).guarantee == m.mechanism.guarantee
    assert load_entry(out).replacement == m.mechanism.replacement
    document = json.loads((out / "manifest.json").read_text())
    for name, digest in document["sha256"].items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    assert {p.name for p in out.iterdir()} == {*document["sha256"], "manifest.json"}

    noisy = read(out / "measurements.csv")
    assert [int(r["noisy_answer"]) for r in noisy] == np.concatenate(m.answers).tolist()
    assert {float(r["variance"]) for r in noisy} == set(m.mechanism.variances)
    assert [(r["RAC1P"], r["HISP"]) for r in noisy[:11]] == [
        ("", ""),
        *((c, "") for c in codes[0]),
        ("", "1"),
    ]
    weights = [float(r["weight"]) for r in read(out / "table_weighted.csv")]
    np.testing.assert_array_equal(np.reshape(weights, (9, 24)), made.weights)
    expected = pd.read_csv(out / "expected_errors.csv")
    assert list(expected["query_set"]) == list(workload.names)

    if METHODS[method].signed:
        assert made.rounded is None
        assert not (out / "records.csv").exists()
        return
    assert made.weights.min() >= 0
    whole = read_table(out / "table_integer.csv", schema)
    np.testing.assert_array_equal(whole, made.rounded.table)
    assert abs(whole.sum() - made.weights.sum()) <= 0.5 + 1e-9
    for queries in workload.query_sets:
        assert np.abs(queries.answers(whole) - queries.answers(made.weights)).max() < 1
    np.testing.assert_array_equal(read_table(out / "records.csv", schema), whole)
    records = pyarrow.parquet.read_table(out / "records.parquet").to_pylist()
    assert records == read(out / "records.csv")
    assert len(records) == whole.sum()
    if method == "sequential":
        assert whole.sum() == max(0, m.answers[0][0])


@pytest.mark.parametrize("guarantee", [PureDP(0.3), ConcentratedDP(1 / 3)])
def test_measurements_are_fitted_again_without_the_table(tmp_path, guarantee):
    workload = parse_workload("sum; sex; identity", SCHEMA)
    first = publish(measured(workload=workload, guarantee=guarantee), "nnls", tmp_path / "first")
    second = release_again(tmp_path / "first", "sequential", tmp_path / "second")
    assert second.measured.identity == first.measured.identity
    assert second.measured.mechanism.guarantee == first.measured.mechanism.guarantee
    assert second.measured.workload.names == workload.names
    for name in ("measurements.csv", "schema.json"):
        texts = [(tmp_path / n / name).read_bytes() for n in ("first", "second")]
        assert texts[0] == texts[1]
    direct = finish(first.measured, "sequential", draws=10)
    np.testing.assert_array_equal(second.weights, direct.weights)
    both = add_up([load_entry(tmp_path / n) for n in ("first", "second")])
    assert both.total == first.measured.mechanism.guarantee


def test_a_changed_release_is_not_fitted_again(tmp_path):
    folder = tmp_path / "first"
    publish(measured(), "nnls", folder)
    manifest = folder / "manifest.json"
    document = json.loads(manifest.read_text())
    mechanism = document["mechanism"]
    double = {k: 2 * v for k, v in mechanism["scales"].items()}
    uneven = {**mechanism["scales"], "sum": 40.0}
    fewer = document["workload"][:-1]
    for change, message in (
        ({"guarantee": {"kind": "pure", "epsilon": 0.1}}, "states a guarantee that"),
        ({"neighbours": "tables of one household"}, "states a guarantee that"),
        ({"mechanism": {**mechanism, "scales": double}}, "states a guarantee that"),
        ({"mechanism": {**mechanism, "scales": uneven}}, "states a guarantee that"),
        ({"mechanism": {**mechanism, "name": "discrete Gaussian"}}, "states a guarantee that"),
        ({"mechanism": {**mechanism, "name": "none"}}, "no mechanism 'none'"),
        ({"mechanism": None}, "does not describe its mechanism"),
        ({"workload": fewer}, "does not describe its mechanism"),
        ({"workload": None}, "does not describe its workload"),
        ({"measurement": None}, "does not name its measurement"),
        ({"sha256": None}, "is missing or not as the manifest's checksum says"),
    ):
        manifest.write_text(json.dumps({**document, **change}))
        with pytest.raises(InputError, match="is not as its own checksum says"):
            release_again(folder, "nnls", tmp_path / "second")
        # Whoever makes the checksum anew is still caught by the mechanism.
        manifest.write_text(json.dumps(resealed({**document, **change})))
        with pytest.raises(InputError, match=message):
            release_again(folder, "nnls", tmp_path / "second")
        with pytest.raises(InputError, match=message):
            load_entry(folder)
    manifest.write_text(json.dumps(document))
    rows = (folder / "measurements.csv").read_text().replace("sum,,,", "sum,,,1")
    (folder / "measurements.csv").write_text(rows)
    with pytest.raises(InputError, match=r"measurements.csv is missing or not as"):
        release_again(folder, "nnls", tmp_path / "second")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["first"]


def test_a_table_without_anybody_is_released_like_any_other(tmp_path):
    for k in range(5):
        made = publish(measured(np.zeros((3, 2))), "maxfit", tmp_path / str(k))
        records = read(tmp_path / str(k) / "records.csv")
        assert len(records) == made.rounded.table.sum()


def test_three_way_tables_report_the_least_deviation(tmp_path):
    schema = Schema(("a", "b", "c"), (("1", "2"), ("1", "2"), ("1", "2", "3")))
    workload = parse_workload("sum, a*b, b*c, a*c, identity", schema)
    table = np.arange(12.0).reshape(2, 2, 3)
    made = publish(measure_privately(table, schema, workload, PureDP(1.0)), "nnls", tmp_path / "o")
    assert not made.rounded.within_one
    document = json.loads((tmp_path / "o" / "manifest.json").read_text())
    assert document["rounding"]["deviations"] == made.rounded.deviations
    said = " ".join((tmp_path / "o" / "README.txt").read_text().split())
    assert "cannot keep all of them below" in said


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "guarantee", [PureDP(5.0), PureDP(1e-5), ConcentratedDP(2.5), ConcentratedDP(1e-11)]
)
def test_extreme_levels_are_released(method, guarantee):
    made = finish(measured(guarantee=guarantee, weak=True), method, draws=12)
    assert made.certificate <= 1e-7
    names = set(release_files(made))
    if made.rounded is not None:
        assert ("records.csv" in names) == (made.rounded.table.sum() <= 20_000_000)
        assert made.rounded.largest < 1
    loud = guarantee in (PureDP(5.0), ConcentratedDP(2.5))
    assert loud == (b"WEAK PROTECTION" in release_files(made)["README.txt"])
    assert loud == bool(json.loads(release_files(made)["manifest.json"])["warnings"])


def test_a_table_of_too_many_records_is_written_as_a_table(tmp_path):
    made = publish(measured(1e8 * TABLE), "nnls", tmp_path / "o")
    assert made.rounded.table.sum() > 20_000_000
    assert not (tmp_path / "o" / "records.csv").exists()
    assert "no records.csv" in (tmp_path / "o" / "README.txt").read_text()
    whole = read_table(tmp_path / "o" / "table_integer.csv", SCHEMA)
    np.testing.assert_array_equal(whole, made.rounded.table)


def test_a_workload_without_cells_still_gives_microdata():
    workload = parse_workload("sum, region, sex", SCHEMA)
    made = finish(measured(workload=workload), "nnls", draws=10)
    for queries in workload.query_sets:
        off = queries.answers(made.rounded.table) - queries.answers(made.weights)
        assert np.abs(off).max() < 1


# What is refused, and what is left after an accident


@pytest.fixture
def inputs(tmp_path):
    table, schema = tmp_path / "table.csv", tmp_path / "schema.json"
    table.write_text(table_text(SCHEMA, TABLE.astype(int)))
    schema.write_text(SCHEMA.to_json())
    return table, schema, tmp_path / "out"


def quiet(error):
    """Whether nothing was said but how far the work is, which a busy machine makes it say."""
    return all(line.startswith("estimating errors: ") for line in error.splitlines())


def test_the_command(inputs, capsys):
    table, schema, out = inputs
    words = ["release", table, "--schema", schema, "--method", "reweighted"]
    code, printed, error = run(capsys, *words, "--epsilon", 1, "--out", out)
    assert code == 0
    assert quiet(error)
    assert "pure differential privacy with epsilon = 1," in printed
    assert "computed by OpenDP for the whole workload" in printed
    assert "any two tables that differ by one record added or removed" in printed
    assert "at most epsilon = 2:" in printed
    before = {p: p.read_bytes() for p in out.iterdir()}
    code, printed, error = run(capsys, *words, "--epsilon", 1, "--out", out)
    assert (code, printed) == (2, "")
    assert "exists already and is never overwritten" in error
    assert {p: p.read_bytes() for p in out.iterdir()} == before
    code, printed, error = run(
        capsys, *words, "--rho", 0.1, "--workload", "sum;identity", "--json", "--out", f"{out}2"
    )
    assert code == 0
    assert quiet(error)
    document = json.loads(printed)
    assert document["guarantee"]["kind"] == "zcdp"
    told = [row["query_set"] for row in document["expected_errors"]]
    assert told == ["sum", "identity", "region", "sex"]  # the columns were not asked
    assert document["records"] == len(read(Path(f"{out}2") / "records.csv"))


def test_the_command_fits_again(inputs, capsys):
    table, schema, out = inputs
    again = ["release", "--again", out, "--method", "sequential", "--out", f"{out}2"]
    code, _, error = run(capsys, *again)
    assert code == 2
    assert "does not exist" in error
    words = ["--schema", schema, "--method", "nnls", "--epsilon", 1, "--out", out]
    assert run(capsys, "release", table, *words)[0] == 0
    table.unlink()
    code, _, error = run(capsys, *again, "--epsilon", 1)
    assert code == 2
    assert "--again takes everything from the earlier release" in error
    code, printed, _ = run(capsys, *again, "--json")
    assert code == 0
    assert json.loads(printed)["method"] == "sequential"
    code, printed, _ = run(capsys, "budget", out, f"{out}2", "--json")
    assert json.loads(printed)["total"] == {"kind": "pure", "epsilon": 1.0}
    code, _, error = run(capsys, "release", "--method", "nnls", "--epsilon", 1, "--out", f"{out}3")
    assert code == 2
    assert "a release needs TABLE and its --schema, or --again" in error


def test_a_schema_beside_the_table_is_named(tmp_path, capsys):
    table = tmp_path / "b.csv"
    table.write_text("sex,count\nf,1\nm,2\n")
    words = ["release", table, "--method", "nnls", "--rho", 0.1, "--out", tmp_path / "o"]
    code, _, error = run(capsys, *words)
    assert code == 2
    assert "a release needs TABLE and its --schema, or --again" in error
    beside = tmp_path / "b.schema.json"
    beside.write_text('{"columns": {"sex": ["f", "m"]}}')
    code, _, error = run(capsys, *words)
    assert code == 2
    assert f"--schema {beside}" in error
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "nnls"], "no privacy level is given; give one"),
        (["--method", "nnls", "--epsilon", "1", "--rho", "1"], "both --epsilon and --rho"),
        (["--method", "nnls", "--epsilon", "0"], "epsilon is 0; it must be a positive"),
        (["--method", "nnls", "--epsilon", "-1"], "epsilon is -1; it must be a positive"),
        (["--method", "nnls", "--epsilon", "nan"], "epsilon is nan; it must be a positive"),
        (["--method", "nnls", "--rho", "inf"], "rho is inf; it must be a positive"),
        (["--method", "nnls", "--epsilon", "one"], "is not a number"),
        (["--method", "nlns", "--epsilon", "1"], "did you mean nnls or ols"),
        (["--method", "nnls", "--epsilon", "1", "--workload", "sum, age"], "'age'"),
        (["--method", "nnls", "--epsilon", "1", "--seed", "1"], "no such option"),
    ],
)
def test_what_the_command_refuses(inputs, capsys, words, message):
    table, schema, out = inputs
    code, printed, error = run(capsys, "release", table, "--schema", schema, "--out", out, *words)
    assert (code, printed) == (2, "")
    assert message in error
    assert "Traceback" not in error
    assert sorted(p.name for p in out.parent.iterdir()) == ["schema.json", "table.csv"]


def test_the_recommended_method_is_used_where_none_is_named(inputs, capsys):
    table, schema, out = inputs
    words = ["release", table, "--schema", schema, "--out", out, "--epsilon", "1", "--json"]
    code, printed, _ = run(capsys, *words)
    assert (code, json.loads(printed)["method"]) == (0, RECOMMENDED)
    _, told, _ = run(capsys, "release", "--help")
    assert "recommended because" in " ".join(told.split())


def test_weighted_tables_and_bad_values_are_refused(inputs, capsys):
    table, schema, out = inputs
    weighted = Schema(SCHEMA.columns, SCHEMA.values, weighted=True)
    words = ["release", table, "--schema", schema, "--out", out, "--method", "nnls"]
    text = table.read_text()
    for content, message in (
        (table_text(weighted, TABLE.astype(int)), "is a weighted table"),
        (text.replace("south", "SECRET"), "row 4, column 'region'"),
    ):
        table.write_text(content)
        code, printed, error = run(capsys, *words, "--epsilon", "1")
        assert (code, printed) == (2, "")
        assert message in error
        assert "SECRET" not in error
        assert not out.exists()


@pytest.mark.parametrize(
    ("problem", "status", "said"),
    [
        (KeyboardInterrupt, 130, "interrupted"),
        (OSError(28, "No space left on device"), 2, "the disk has no room left"),
    ],
)
def test_an_accident_leaves_no_folder(inputs, capsys, monkeypatch, problem, status, said):
    table, schema, out = inputs
    write = Path.write_bytes

    def failing(path, data):
        if path.name == "manifest.json":
            raise problem
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", failing)
    code, printed, error = run(
        capsys,
        "release",
        table,
        "--schema",
        schema,
        "--out",
        out,
        "--method",
        "nnls",
        "--epsilon",
        "1",
    )
    assert code == status
    assert said in error
    assert printed == ""
    assert sorted(p.name for p in out.parent.iterdir()) == ["schema.json", "table.csv"]


def test_the_commands_help_says_what_is_protected(capsys):
    code, printed, _ = run(capsys, "release", "--help")
    assert code == 0
    assert "What is protected" in printed
    assert "What is not protected" in printed
    assert "microdata-price release persons.csv --schema persons.schema.json --epsilon 1" in printed


@pytest.mark.parametrize(
    ("guarantee", "times"),
    [(PureDP(1.0), "2.8 times"), (PureDP(0.1), "1.2 times"), (ConcentratedDP(0.005), "1.6 times")],
)
def test_the_readme_begins_with_words_for_everybody(guarantee, times):
    made = finish(measure_privately(TABLE, SCHEMA, WORKLOAD, guarantee), "nnls", draws=40)
    text = " ".join(release_files(made)["README.txt"].decode().split())
    short = text[: text.index("Guarantee:")]
    assert f"at most {times} smaller or larger" in short
    assert ("one in a million" in short) == isinstance(guarantee, ConcentratedDP)
    assert f"The published table has {made.rounded.table.sum()} records." in short
    assert "The true number is between" in short
    assert "e-" not in short


def test_the_readme_says_what_is_public():
    m = measure_privately(TABLE, SCHEMA, WORKLOAD, PureDP(1.0), known_total=True)
    text = " ".join(release_files(finish(m, "nnls", draws=40))["README.txt"].decode().split())
    assert "what any one record says" in text
    assert "That is the true number, which is public." in text


def test_the_readme_says_in_short_what_was_not_asked_and_what_protects_little():
    alone = parse_workload("identity", SCHEMA)
    made = finish(measure_privately(TABLE, SCHEMA, alone, PureDP(1.0)), "nnls", draws=40)
    text = " ".join(release_files(made)["README.txt"].decode().split())
    assert "How many there are was not asked; that number is typically off by" in text
    weak = measure_privately(TABLE, SCHEMA, WORKLOAD, PureDP(5.0), weak=True)
    text = " ".join(release_files(finish(weak, "nnls", draws=0))["README.txt"].decode().split())
    assert "next to nothing apart: see the warning above" in text
    assert "nobody can be sure" not in text


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("method", ["nnls", "ols"])
@pytest.mark.parametrize("draws", [0, 40])
def test_the_readme_has_a_part_for_every_reader_and_one_for_specialists(known, method, draws):
    m = measure_privately(TABLE, SCHEMA, WORKLOAD, PureDP(1.0), known_total=known)
    made = finish(m, method, draws=draws)
    files = release_files(made)
    text = files["README.txt"].decode()
    plain, precise = text.split("PART 2: FOR SPECIALISTS")
    assert all(len(line) <= 90 for line in plain.splitlines())
    read_first = plain.split("Which file holds what?")[0]
    for word in ("epsilon", "variance", "query", "bias", "root mean", "OLS", "identity"):
        assert word not in read_first
    assert "Guarantee: pure differential privacy with epsilon = 1" in precise
    assert "Typically, one count is off by about this many records:" in plain
    assert ("in the number of all records" in plain) != known
    if known:
        assert made.report.expected.set_index("query_set").loc["sum", "ols"] == 0
    assert ("but the number of all records, which is public" in " ".join(plain.split())) == known
    listed = {line.split()[0] for line in plain.splitlines() if line.startswith("  ")}
    assert {name for name in files if name != "README.txt"} <= listed
    words = files["data_dictionary.txt"].decode()
    for name in ("table_integer.csv", "intervals.csv", "measurements.csv", "table_weighted.csv"):
        if name in files:
            head = files[name].decode().splitlines()[0].replace('"', "").split(",")
            assert all(f"  {column}" in words or f", {column} " in words for column in head)


def test_the_readmes_example_is_the_first_line_of_the_intervals():
    made = finish(measure_privately(TABLE, SCHEMA, WORKLOAD, PureDP(1.0)), "nnls", draws=40)
    files = release_files(made)
    rows = list(csv.DictReader(files["intervals.csv"].decode().splitlines()))
    row = next(r for r in rows if r["query_set"] != "sum")
    text = " ".join(files["README.txt"].decode().split())
    said = re.search(r"For example, (\d+) records? with (.*?) (?:is|are) published", text)
    assert said[1] == row["published"]
    assert f"the true number is between {row['low']} and {row['high']}." in text
    assert all(f"{c} = {row[c]!r}" in said[2] for c in SCHEMA.columns if row[c])
