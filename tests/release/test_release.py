"""Releases: what they claim, what their files hold, and what they never see."""

import ast
import contextlib
import dataclasses
import gc
import hashlib
import importlib
import itertools
import json
import pkgutil
import re
import weakref
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import microdata_price.release
from command_line import refused, run
from microdata_price.exceptions import InputError
from microdata_price.fitting import METHODS, RECOMMENDED, fit
from microdata_price.model.benchmark import data_set
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload
from microdata_price.release import files as files_module
from microdata_price.release import measure as release_measure
from microdata_price.release import run as release_module
from microdata_price.release.files import release_files
from microdata_price.release.folder import entry_of, load_measured, sealed
from microdata_price.release.measure import measure, measure_privately
from microdata_price.release.plan import plan_release
from microdata_price.release.run import finish, publish, release, release_again
from microdata_price.tables.read import read_table
from microdata_price.tables.schemas import Rule, Schema, load_schema, parse_schema
from microdata_price.tables.workloads import DEFAULT, parse_workload
from release_samples import CODES, SCHEMA, TABLE, WORKLOAD, counts_csv, edited, measured, rows


def test_the_spending_is_written_down_before_any_noise_is_drawn_and_after_the_table_is_checked():
    planned, order = plan_release(SCHEMA, WORKLOAD, PureDP(1.0)), []
    draws = tuple(lambda a: order.append("noise") or a for _ in planned.mechanism.add_noise)
    change = dataclasses.replace
    planned = change(planned, mechanism=change(planned.mechanism, add_noise=draws))

    def spend(_):
        order.append("spent")
        return "line"

    turned = Workload((QuerySet.from_labels([[2, 2], [1, 1], [0, 0]], "region"),))
    twice = Workload((QuerySet.identity((3, 2)), QuerySet.identity((3, 2), "region*sex")))
    side, never = (("minor", "adult"),), (("age", ("minor",)),) * 2
    odd = Schema(("age",), side, (Rule(cuts=(18.0,)),)), Schema(("age",), side, impossible=(never,))
    ages = [(schema, parse_workload("age", schema)) for schema in odd]
    for schema, asked in ((SCHEMA, turned), (SCHEMA, twice), *ages):
        with pytest.raises(InputError, match=r"its name|asks for .* twice|workload differ"):
            plan_release(schema, asked, PureDP(1.0))
    wrapping, masked = np.full((3, 2), 2**62), np.ma.masked_equal(TABLE.astype(int), 20)
    for table in (np.full((3, 2), 5e14), wrapping, masked, TABLE * np.nan, np.zeros((2, 2))):
        with pytest.raises(InputError, match=r"more than 1e\+15 records|cell|shape"):
            measure(planned, table, spend)
    assert not order
    assert measure(planned, 1e15 * (np.arange(6.0).reshape(3, 2) == 0), spend).ledger == "line"
    assert order == ["spent", *["noise"] * len(draws)]


# What is never seen

PACKAGE = "microdata_price"
RELEASE = [
    f"{PACKAGE}.release.{m.name}" for m in pkgutil.iter_modules(microdata_price.release.__path__)
]
SEES = {f"{PACKAGE}.release.measure"}
READERS = {f"{PACKAGE}.tables.read", f"{PACKAGE}.model.benchmark"}
COMMANDS = [f"{PACKAGE}.commands.{name}" for name in ("release", "options")]


def tree(name):
    return ast.parse(Path(importlib.import_module(name).__file__).read_text())


def imports(name):
    """All that a module imports, as (module, name) with whole module names."""
    package = name.rsplit(".", 1)[0]
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            yield from ((base, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def test_only_measuring_sees_a_true_table():
    """No file of the room and its commands reads one, nor what they import, all the way down."""
    seen, waiting, own = set(), [*{*RELEASE, *COMMANDS} - SEES], {*RELEASE, *COMMANDS}
    while waiting:
        name = waiting.pop()
        if name in {*seen, *SEES} or not name.startswith(PACKAGE):
            continue
        seen.add(name)
        for module, what in imports(name):
            # Of `measure` there is one door, and who goes on from it is named.
            assert module not in SEES or (name, what) == (f"{PACKAGE}.release.run", "measure_file")
            for found in (module, f"{module}.{what}"):
                with contextlib.suppress(ImportError, ValueError):
                    waiting += [found] * (importlib.util.find_spec(found) is not None)
        calls = (n.func for n in ast.walk(tree(name)) if name in own and isinstance(n, ast.Call))
        called = {func.id for func in calls if isinstance(func, ast.Name)}
        assert not {"open", "read_table", "__import__", "eval", "exec"} & called
    assert f"{PACKAGE}.tables.workloads" in seen
    assert not seen & READERS


@pytest.mark.parametrize("name", RELEASE)
def test_no_release_module_touches_another_source_of_randomness(name):
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Attribute):
            assert node.attr not in ("random", "sample", "default_rng", "seed", "rvs"), name
    for module, what in imports(name):
        assert "random" not in f"{module}.{what}"
        assert f"{module}.{what}" != f"{PACKAGE}.model.measurement.measure"


def test_a_release_works_without_numpys_generators(inputs, tmp_path, monkeypatch):
    for name in ("default_rng", "seed", "laplace", "normal", "random", "Generator", "geometric"):
        monkeypatch.delattr(np.random, name)
    for method in METHODS:
        plan = plan_release(SCHEMA, WORKLOAD, PureDP(1.0))
        assert release(inputs[0], plan, method, tmp_path / method).certificate <= 1e-7


def test_the_true_table_is_gone_before_anything_is_fitted(inputs, tmp_path, monkeypatch):
    """The file is swapped and the array dead by the time the measurement is handed on."""
    path, _, out = inputs
    alive, kept = [], []

    def watched(*args):
        table = read_table(*args)
        alive.append(weakref.ref(table))
        return table

    def swapped(measured, method):
        gc.collect()
        assert [ref() for ref in alive] == [None]
        path.write_text(counts_csv(SCHEMA, 7 * TABLE + 1000))
        kept.append(measured)
        return finish(measured, method)

    monkeypatch.setattr(release_measure, "read_table", watched)
    monkeypatch.setattr(release_module, "finish", swapped)
    made = release(path, plan_release(SCHEMA, WORKLOAD, PureDP(2.0)), "nnls", out)
    assert len(alive) == 1
    assert np.abs(made.whole - TABLE).max() < 200  # this is the first table
    publish(kept[0], "nnls", tmp_path / "again")
    same_folders(out, tmp_path / "again")


def same_folders(one, two):
    for path in one.iterdir():
        assert path.read_bytes() == (two / path.name).read_bytes()


# What the files hold


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("guarantee", [PureDP(0.5), ConcentratedDP(0.125)])
def test_sums_marginals_and_records_agree(tmp_path, method, guarantee):
    schema, out = CODES, tmp_path / "out"
    given = {"schema": schema, "workload": parse_workload(DEFAULT, schema)}
    m = measured(guarantee, table=data_set("PUMA3603710").table, **given)
    with pytest.raises(ValueError, match="read-only"):
        m.answers[0][0] = 1
    made = publish(m, method, out)
    assert load_schema(out / "schema.json") == schema
    again, finished = load_measured(out)
    assert (finished, again.mechanism.guarantee) == (True, m.mechanism.guarantee)
    document = json.loads(text := (out / "manifest.json").read_text())
    assert re.match(r'{\n "format": ".* 3",\n "measurement": "[0-9a-f]{16}",\n', text)
    for name, digest in document["sha256"].items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    assert {p.name for p in out.iterdir()} == {*document["sha256"], "manifest.json"}
    assert document["mechanism"]["scales"]["sum"] == m.mechanism.scales[0]
    (out / "manifest.json").write_text(json.dumps(document, sort_keys=True))
    assert load_measured(out)[1]  # whatever the order of its fields

    noisy = rows(out / "measurements.csv")
    assert [int(r["noisy_answer"]) for r in noisy] == np.concatenate(m.answers).tolist()
    assert {float(r["variance"]) for r in noisy} == set(m.mechanism.variances)
    labels = [(r["RAC1P"], r["HISP"]) for r in noisy[:11]]
    assert labels == [("", ""), *((c, "") for c in schema.values[0]), ("", "1")]
    weights = [float(r["weight"]) for r in rows(out / "table_weighted.csv")]
    np.testing.assert_array_equal(np.reshape(weights, (9, 24)), made.weights)

    if METHODS[method].signed:
        assert made.whole is None
        assert not (out / "records.csv").exists()
        return
    fitted = fit(m.measurements(), method).tables[0]
    np.testing.assert_array_equal(made.weights, np.maximum(fitted, 0))
    whole = read_table(out / "table_integer.csv", schema)
    np.testing.assert_array_equal(whole, made.whole)
    assert abs(whole.sum() - made.weights.sum()) <= 0.5 + 1e-9
    assert max(made.moved().values()) < 1
    np.testing.assert_array_equal(read_table(out / "records.csv", schema), whole)
    table = pyarrow.parquet.read_table(out / "records.parquet")
    assert set(table.schema.types) == {pyarrow.string()}
    assert (records := table.to_pylist()) == rows(out / "records.csv")
    assert len(records) == whole.sum()
    if method == "sequential":
        assert whole.sum() == max(0, m.answers[0][0])


@pytest.mark.parametrize("method", ["nnls", "reweighted", "maxfit"])
def test_the_same_measurement_and_method_give_the_same_folder(tmp_path, method):
    schema = Schema(("a", "b", "c"), (tuple("123456"),) * 3)
    workload = parse_workload("sum, a*b, b*c, a*c, identity", schema)
    table = np.random.default_rng(3).poisson(1.0, (6, 6, 6)).astype(float)
    first = publish(measure_privately(table, schema, workload, PureDP(2.0)), method, tmp_path / "a")
    second = release_again(tmp_path / "a", method, tmp_path / "b")
    assert second.measured.identity == first.measured.identity
    same_folders(tmp_path / "a", tmp_path / "b")
    for q in workload.query_sets:
        off = np.abs(q.answers(first.whole) - q.answers(first.weights)).max()
        assert first.moved()[q.name] == pytest.approx(off, abs=1e-9)
        assert off < 1


def test_a_changed_release_is_not_fitted_again(tmp_path):
    publish(measured(), "nnls", folder := tmp_path / "first")
    whole = (manifest := folder / "manifest.json").read_text()
    mechanism = (document := json.loads(whole))["mechanism"]

    def with_scales(scales, factor=1.0):
        """Change the scales, and the variances by a factor that should go with them."""
        variances = {k: factor * v for k, v in mechanism["variances"].items()}
        return {"mechanism": {**mechanism, "scales": scales, "variances": variances}}

    double = {k: 2 * v for k, v in mechanism["scales"].items()}
    swapped = {"sum": 3.0, "region": 6.0, "sex": 4.0, "identity": 4.0}
    variances = {k: v + 1e-6 for k, v in mechanism["variances"].items()}
    fewer = dict(list(document["workload"].items())[:-1])

    def refuses(message):
        with pytest.raises(InputError, match=message):
            release_again(folder, "nnls", tmp_path / "second")

    of = {"mechanism": [None, {**mechanism, "scales": 3}], "workload": [None, ["sum"]]}
    other = [{**mechanism, "variances": {}}, {**mechanism, "name": "discrete Gaussian"}]
    wrong = {"mechanism": other, "workload": [fewer], "measurement": [None]}
    wrong |= {"neighbours": ["none"], "guarantee": [{"kind": "pure", "epsilon": 0.1}]}
    for change, message in (
        *(({k: v}, "does not describe a measurement") for k in of for v in of[k]),
        *(({k: v}, "states a guarantee that") for k in wrong for v in wrong[k]),
        (with_scales(double), "states a guarantee that"),
        (with_scales({**mechanism["scales"], "sum": 40.0}), "states a guarantee that"),
        ({"guarantee": {"kind": "pure"}}, "the guarantee must"),
        ({"guarantee": {"kind": "zcdp", "epsilon": 1.0}}, "the guarantee must"),
        ({"guarantee": {"kind": "pure", "epsilon": -1}}, "epsilon is -1"),
        # The same total level, divided otherwise: only variances tell.
        (with_scales(swapped), "states variances that|states a guarantee that"),
        ({"mechanism": {**mechanism, "variances": variances}}, "states variances that"),
        ({"mechanism": {**mechanism, "name": "none"}}, "no mechanism 'none'"),
        (with_scales({**mechanism["scales"], "sum": float("nan")}), "does not describe"),
        ({"sha256": None}, "is missing or not as the manifest's checksum says"),
        ({**with_scales(double, 4.0), "guarantee": {"kind": "pure", "epsilon": 0.5}}, "variances"),
    ):
        manifest.write_text(json.dumps({**document, **change}))
        refuses("is not as its own checksum says")
        # Whoever makes the checksum anew is still caught by the mechanism.
        edited(folder, **change)
        refuses(message)
    not_json = [(text, "is not a JSON document") for text in ("{", "[" * 100_000)]
    for other, message in (*not_json, ("[]", "was not written by this version")):
        manifest.write_text(other)
        refuses(message)
    manifest.write_text(whole)
    known = hashlib.sha256('{"a": 1, "b": "ñ"}'.encode())  # as folders have it that are written
    assert sealed({"b": "ñ", "a": 1})["checksum"] == known.hexdigest()
    text = (folder / "measurements.csv").read_text()
    (folder / "measurements.csv").write_text(text.replace("sum,,,", "sum,,,1"))
    refuses(r"measurements.csv is missing or not as")
    # With its checksum made anew: a variance in the answers' file that the noise does not have.
    changed = re.sub(r",[0-9.]+$", ",1.5", text, count=1, flags=re.M)
    (folder / "measurements.csv").write_text(changed)
    sums = {"measurements.csv": hashlib.sha256(changed.encode()).hexdigest()}
    edited(folder, sha256=document["sha256"] | sums)
    refuses("states variances that its scales do not give")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["first"]


@pytest.mark.parametrize("known", [False, True])
def test_folders_of_the_version_before_are_taken_up(tmp_path, known):
    """Its manifest lists query sets otherwise; of a public total it may state too little."""
    made = publish(measured(known_total=known), "nnls", tmp_path / "old")
    document = json.loads((tmp_path / "old" / "manifest.json").read_text())
    asked = [{"query_set": n, "columns": [], "queries": k} for n, k in document["workload"].items()]
    earlier = {"format": "microdata-price release 2", "workload": asked}
    less = {"guarantee": {"kind": "pure", "epsilon": 0.7}}
    for change in [less] if known else [less, {**earlier, **less}]:
        edited(tmp_path / "old", **change)
        with pytest.raises(InputError, match="states a guarantee that"):
            load_measured(tmp_path / "old")
    assert document.pop("where") == {}
    document = sealed({**document, **earlier, **(less if known else {})})
    (tmp_path / "old" / "manifest.json").write_text(json.dumps(document))
    again = release_again(tmp_path / "old", "nnls", tmp_path / "new")
    np.testing.assert_array_equal(again.whole, made.whole)
    assert again.measured.mechanism.guarantee == made.measured.mechanism.guarantee
    assert entry_of(tmp_path / "new", again.measured).replaced == known
    edited(tmp_path / "old", format="microdata-price release 9")
    with pytest.raises(InputError, match="use the version that wrote it"):
        load_measured(tmp_path / "old")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "guarantee", [PureDP(5.0), PureDP(1e-5), ConcentratedDP(2.5), ConcentratedDP(1e-11)]
)
def test_extreme_levels_are_released(method, guarantee):
    made = finish(measured(guarantee, weak=True), method)
    assert made.certificate <= 1e-7
    files = release_files(made)
    if made.whole is not None:
        assert ("records.csv" in files) == (made.whole.sum() <= 20_000_000)
        assert max(made.moved().values()) < 1
    loud = guarantee in (PureDP(5.0), ConcentratedDP(2.5))
    assert loud == (b"WEAK PROTECTION" in files["README.txt"])
    assert loud == bool(json.loads(files["manifest.json"])["warnings"])


def test_tables_without_anybody_or_of_too_many_records(monkeypatch):
    for table in (TABLE, *[0 * TABLE] * 5):
        made = finish(measured(table=table), "maxfit")
        for most in (size := int(made.whole.sum())), size - 1:
            monkeypatch.setattr(files_module, "MOST_RECORDS", most)
            files = release_files(made)
            counts = [int(r["count"]) for r in rows(files["table_integer.csv"])]
            np.testing.assert_array_equal(counts, made.whole.ravel())
            none = f"(no records.csv: it would have more than {most} rows)"
            assert (none in files["README.txt"].decode()) == (most < size)
            assert most < size or len(rows(files["records.csv"])) == size
            assert ("records.csv" in files) == ("records.parquet" in files) == (most == size)


def test_a_public_total_is_kept_of_next_to_nobody_and_where_no_count_is_known_to_have_any():
    asked = parse_workload("sex, sum, identity", SCHEMA)
    for records in 9 * (0, 1, 8):
        known = measured(table=records * (TABLE == 1), known_total=True, workload=asked)
        below = tuple(a - 99 * (a.size > 1) for a in known.answers)
        none = dataclasses.replace(known, answers=below)
        for m, method in ((known, "nnls"), (none, "sequential")):
            made = finish(m, method)
            assert made.whole.sum() == records
            assert made.weights.sum() == pytest.approx(records, rel=1e-15)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("method", ["nnls", "ols"])
@pytest.mark.parametrize("guarantee", [PureDP(1.0), ConcentratedDP(0.005)])
def test_the_readme_is_one_true_page(known, method, guarantee):
    workload = parse_workload("sum, sex, region, identity", SCHEMA)
    made = finish(measured(guarantee, known_total=known, workload=workload), method)
    files = release_files(made)
    page = files["README.txt"].decode()
    assert ((lines := page.splitlines())[89:], "{" in page) == ([], False)
    assert all(len(line) <= 88 for line in lines)
    text = " ".join(page.split())
    times = {PureDP(1.0): "2.72", ConcentratedDP(0.005): "1.73"}[guarantee]
    assert f"at most {times} times smaller or larger" in text
    assert ("one in a million" in text) == isinstance(guarantee, ConcentratedDP)
    assert ("but the number of all records, which is public" in text) == known
    assert ("it is public." in text) == known
    assert (f"at most {made.measured.mechanism.replacement.describe()}." in text) != known
    assert {name for name in files if name != "README.txt"} <= set(re.findall(r"[\w.]+", page))
    assert (b"published" in files["intervals.csv"]) == ("published answers" in page)
    assert ("before rounding" in page) == (made.whole is not None)
    if made.whole is None:
        return
    assert f"{made.whole.sum()} records are published." in text
    assert f"moved no count of intervals.csv by more than {made.most_moved}." in text
    off = dataclasses.replace(made, weights=made.whole - 0.4321)
    assert off.most_moved == "2.593"  # six cells together, upwards
    row = next(r for r in rows(files["intervals.csv"]) if r["query_set"] != "sum")
    said = re.search(r"For example, (\d+) with (.*?) are published", text)
    assert said[1] == row["published"]
    assert f"the true number is between {row['low']} and {row['high']}." in text
    assert all(f"{c} = {row[c]!r}" in said[2] for c in SCHEMA.columns if row[c])


def test_the_readme_says_which_counts_were_measured_and_how_far_all_that_are_told_moved():
    for asked, told in (("identity", "identity sum region sex"), ("sex", "sex sum")):
        made = finish(measured(workload=parse_workload(asked, SCHEMA)), "consensus")
        assert {*made.moved()} == {*told.split()}
        page = " ".join(release_files(made)["README.txt"].decode().split())
        assert ("That holds of the counts in the list below alone." in page) == (asked == "sex")


def test_many_query_sets_leave_the_readme_a_page():
    schema = Schema(tuple("abcdef"), (("0", "1"),) * 6)
    pairs = ["*".join(p) for k in range(1, 6) for p in itertools.combinations("abcdef", k)]
    workload = parse_workload(", ".join(["sum", *pairs, "identity"]), schema)
    table = np.full((2,) * 6, 5.0)
    made = finish(measure_privately(table, schema, workload, PureDP(14.0), weak=True), "nnls")
    page = release_files(made)["README.txt"].decode()
    assert (len(workload.names), page.splitlines()[79:]) == (64, [])
    assert "perhaps more than a million times smaller or larger" in " ".join(page.split())
    assert "sum, a, b, c, d, e and 58 more\n" in page


PLACES = """{"columns": {"block": ["A1a", "A1b", "A2a", "B1c", "B1d"], "age": {"cuts": [18]},
"tâche": {"values": ["none", "nurse"], "other": "other"}},
"groups": {"tract": {"block": {"A1": ["A1a", "A1b"], "A2": ["A2a"], "B1": ["B1c", "B1d"]}},
"county": {"tract": {"A": ["A1", "A2"], "B": ["B1"]}}},
"impossible": [{"age": ["below 18"], "tâche": ["nurse"]}]}"""
STRUCTURE = parse_schema(PLACES)
ASKED = parse_workload("sum, county, tract, block, age, tâche, county*age, identity", STRUCTURE)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("known", [False, True])
def test_no_record_is_published_where_none_can_be(tmp_path, method, known):
    table = np.random.default_rng(2).integers(0, 40, STRUCTURE.cells)
    given = table.astype(float), STRUCTURE, ASKED, PureDP(1.0), {"identity": 0.5}
    measured = measure_privately(*given, known_total=known)
    out = tmp_path / "out"
    made = publish(measured, method, out)
    possible = {tuple(v) for v in STRUCTURE.frame().to_numpy()}
    cells = {tuple(r[c] for c in STRUCTURE.columns) for r in rows(out / "table_weighted.csv")}
    assert cells == possible
    assert '"tâche"' in (out / "manifest.json").read_text(encoding="utf-8")
    page = " ".join((out / "README.txt").read_text().split())
    assert re.search("impossible by the schema.* county: 2 values; a group of tract, no col", page)
    if made.whole is None:
        return
    records = [tuple(r[c] for c in STRUCTURE.columns) for r in rows(out / "records.csv")]
    assert set(records) <= possible
    np.testing.assert_array_equal(read_table(out / "table_integer.csv", STRUCTURE), made.whole)
    if known:
        assert len(records) == table.sum()
        assert made.weights.sum() == pytest.approx(table.sum(), rel=1e-12)
        assert "one record replaced" in page
    again = release_again(out, method, tmp_path / "again").weights
    np.testing.assert_array_equal(again, made.weights)


def test_words_that_programs_misread_are_named(tmp_path):
    schema = Schema(("code",), (("NA", "None", "01", "-1", 'x, "y"'),))
    workload = parse_workload("identity, sum", schema)
    m = measured(table=np.arange(3.0, 8), schema=schema, workload=workload)
    publish(m, "consensus", tmp_path / "o")
    text = (tmp_path / "o" / "README.txt").read_text()
    assert "three fits that err differently." in text  # and agree on the sum where it comes first
    assert re.search("NA, None: a word, not a missing value.* leading zeros", text)
    assert [r["code"] for r in rows(tmp_path / "o" / "table_integer.csv")] == [*schema.values[0]]
    plain = Schema(("code",), (("0", "10", "0x"),))
    workload = parse_workload("sum, identity", plain)
    made = finish(measured(table=np.ones(3), schema=plain, workload=workload), "nnls")
    assert b"leading zeros" not in release_files(made)["README.txt"]


def test_the_command(inputs, command, capsys):
    out, words = inputs[2], ["--method", "reweighted", "--epsilon", 1]
    code, printed, error = command(*words)
    assert (code, error) == (0, "")
    assert "Guarantee: pure differential privacy with epsilon = 1," in printed
    assert "differ by one record added or removed" in printed
    assert "at most pure differential privacy with epsilon = 2." in printed
    moved = re.search(r"by\s+more\s+than\s+(\d\.\d{3})\.", (out / "README.txt").read_text())[1]
    assert f"; rounding moved told counts by at most {moved}.\n" in printed
    before = {p: p.read_bytes() for p in out.iterdir()}
    code, printed, error = command(*words)
    assert (code, printed, "exists already and is never overwritten" in error) == (2, "", True)
    assert {p: p.read_bytes() for p in out.iterdir()} == before
    words = ["--rho", 0.1, "--workload", "sum;identity", "--json"]
    code, printed, error = command(*words, out=f"{out}2")
    document = json.loads(printed)
    assert (code, error) == (0, "")
    assert (document["guarantee"]["kind"], document["method"]) == ("zcdp", RECOMMENDED)
    assert document["records"] == len(rows(Path(f"{out}2") / "records.csv"))
    inputs[1].rename(inputs[0].with_suffix(".schema.json"))  # beside the table it is not taken
    said = refused(capsys, "release", inputs[0], "--rho", 0.1, "--out", f"{out}3")
    assert "a release needs TABLE and its --schema, or --again" in said


def test_the_command_fits_again(inputs, command, capsys):
    table, _, out = inputs
    again = ["release", "--again", out, "--method", "sequential", "--out", f"{out}2"]
    assert "is not the folder of a release" in refused(capsys, *again)
    assert command("--method", "nnls", "--epsilon", 1, "--where", "sex=f")[0] == 0
    table.unlink()
    said = refused(capsys, *again, "--epsilon", 1, "--weak-protection")
    assert "takes all from that release: leave out --epsilon, --weak-" in said
    assert "did you mean nnls" in refused(capsys, *again[:3], "--method", "nlns", *again[5:])
    code, printed, _ = run(capsys, *again, "--json")
    assert (code, json.loads(printed)["method"]) == (0, "sequential")
    for folder in (out, Path(f"{out}2")):
        page = " ".join((folder / "README.txt").read_text().split())
        assert "Only rows with sex = 'f' were counted." in page
        assert load_measured(folder)[0].where == {"sex": "f"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        *(("", "no privacy level is given; give one"), ("--epsilon 1 --share sum=2", "shares")),
        ("--epsilon 1 --rho 1", "both --epsilon and --rho"),
        ("--epsilon 0", "epsilon is 0; it must be a positive"),
        ("--epsilon 1 --workload sum,age", "'age'"),
        *(("--epsilon 1 --seed 1", "no such option"), ("--epsilon 5", "--weak-protection")),
        ("--epsilon 1 --name p", "both --ledger and --name"),
    ],
)
def test_what_the_command_refuses(inputs, command, words, message):
    code, printed, said = command(*words.split())
    assert (code, printed, "Traceback" in said, message in said) == (2, "", False, True)
    assert sorted(p.name for p in inputs[0].parent.iterdir()) == ["schema.json", "table.csv"]
