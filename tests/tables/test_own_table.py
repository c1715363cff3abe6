"""From a person file to a budget, as a reader would do it: four commands, one after the other."""

import csv
import json

import numpy as np
import pytest

from microdata_price import cli
from microdata_price.tables.csv_files import read_table
from microdata_price.tables.schema import load_schema

COLUMNS = ["RT", "SERIALNO", "PUMA", "ST", "PWGTP", "SEX", "RAC1P", "NATIVITY"]


def run(capsys, *words):
    with pytest.raises(SystemExit) as stop:
        cli.main([str(w) for w in words])
    printed = capsys.readouterr()
    assert stop.value.code in (0, None), printed.err
    return json.loads(printed.out)


@pytest.fixture
def persons(tmp_path):
    rng = np.random.default_rng(11)
    path = tmp_path / "psam_p72.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        for k in range(900):
            area = ("00101", "00102")[k % 3 == 0]
            sex, race, native = rng.integers(1, 3), rng.integers(1, 4), rng.integers(1, 3)
            row = ["P", k, area, "72", rng.integers(1, 90), sex, race, f"{native:02d}"]
            writer.writerow(row)
    return path


def test_from_a_person_file_to_a_budget(persons, tmp_path, capsys):
    table = tmp_path / "area.csv"
    words = ["--puma", "7200101", "--by", "SEX", "--by", "RAC1P", "--by", "NATIVITY", "--json"]
    made = run(capsys, "tabulate", persons, *words, "--out", table)
    assert (made["shape"], made["persons"]) == ([2, 9, 2], 600)
    schema = tmp_path / "area.schema.json"
    truth = read_table(table, load_schema(schema))

    asked = ["--workload", "sum, marginals, SEX*RAC1P, identity", "--json"]
    priced = run(
        capsys, "price", table, "--rho", "0.5", "--runs", "40", "--methods", "nnls", *asked
    )
    sets = ["sum", "SEX", "RAC1P", "NATIVITY", "SEX*RAC1P", "identity"]
    assert list(dict.fromkeys(r["query_set"] for r in priced["prices"])) == sets

    release = ["release", table, "--schema", schema, *asked, "--method"]
    for name, method, level in (("a", "nnls", "--epsilon"), ("b", "sequential", "--rho")):
        out = tmp_path / name
        document = run(capsys, *release, method, level, "2", "--out", out)
        whole = read_table(out / "table_integer.csv", load_schema(out / "schema.json"))
        np.testing.assert_array_equal(read_table(out / "records.csv", load_schema(schema)), whole)
        assert whole.sum() == document["records"]
        with (out / "measurements.csv").open(newline="") as stream:
            total = next(csv.DictReader(stream))
        off = int(total["noisy_answer"]) - truth.sum()
        assert abs(off) < 40 * float(total["variance"]) ** 0.5
        if method == "sequential":
            assert whole.sum() == int(total["noisy_answer"])
    budget = run(capsys, "budget", tmp_path / "a", tmp_path / "b", "--json")
    assert budget["total"] == {"kind": "zcdp", "rho": pytest.approx(2 + 2**2 / 2)}

    # Records released may themselves be the table of a further release, under the same schema.
    again = run(
        capsys,
        "release",
        tmp_path / "a" / "records.csv",
        "--schema",
        schema,
        "--epsilon",
        "2",
        "--method",
        "ols",
        "--out",
        tmp_path / "c",
        "--json",
    )
    assert again["records"] is None


def test_a_weighted_table_stops_at_both_doors(persons, tmp_path, capsys):
    table, schema = tmp_path / "w.csv", tmp_path / "w.schema.json"
    words = ["--puma", "7200101", "--by", "SEX", "--weighted", "--json", "--out", table]
    assert run(capsys, "tabulate", persons, *words)["weighted"] is True
    plain = tmp_path / "plain.json"
    plain.write_text(json.dumps({"columns": {"SEX": ["1", "2"]}}))
    for command in (
        ["price", table],
        ["price", table, "--schema", plain],
        ["release", table, "--schema", schema, "--method", "nnls", "--out", tmp_path / "o"],
        ["release", table, "--schema", plain, "--method", "nnls", "--out", tmp_path / "o"],
    ):
        with pytest.raises(SystemExit) as stop:
            cli.main([*(str(w) for w in command), "--epsilon", "1"])
        assert stop.value.code == 2
        assert "is a weighted table" in capsys.readouterr().err
