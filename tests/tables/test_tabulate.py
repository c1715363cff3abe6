"""Tables from person files: counts, weights, packings, blocks, damage, memory."""

import csv
import gzip
import io
import itertools
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microdata_price import cli
from microdata_price.exceptions import InputError
from microdata_price.model.benchmark import data_set, names
from microdata_price.tables import pums as pums_file
from microdata_price.tables.csv_files import read_table
from microdata_price.tables.schema import load_schema, schema_path
from microdata_price.tables.tabulate import parse_area, parse_values, tabulate, write_table

HEADER = ["RT", "SERIALNO", "SPORDER", "PUMA", "ST", "ADJINC", "PWGTP", "AGEP", "SCHL", "SEX"]
HEADER += ["HISP", "RAC1P", "PWGTP1"]


def person(area="0101301", weight=7, sex=1, hisp=1, race=1, school=""):
    fields = ["P", "2016000000012", "01", area[2:], area[:2], "1007588", f"{weight:05d}", "33"]
    return [*fields, school, str(sex), f"{hisp:02d}", str(race), "-3"]


def text(people, header=None):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header or HEADER, *people])
    return out.getvalue()


def people_of(name):
    table = data_set(name).table.astype(int)
    return [
        person(name[4:], hisp=j + 1, race=i + 1)
        for i, j in np.ndindex(table.shape)
        for _ in range(table[i, j])
    ]


@pytest.fixture(scope="module")
def everybody():
    """All fifteen areas in one file, other areas among them, in a shuffled order."""
    rows = list(itertools.chain.from_iterable(people_of(name) for name in names("pums")))
    rows += [person("0101302"), person("0201301"), person("1001301")] * 50
    order = np.random.default_rng(0).permutation(len(rows))
    return text([rows[i] for i in order])


def packed(folder, kind, content):
    path = folder / f"persons.{kind}"
    if kind == "gz":
        path.write_bytes(gzip.compress(content.encode()))
    elif kind == "zip":
        first, *rest = content.splitlines(keepends=True)
        half = len(rest) // 2
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("psam_pusa.csv", first + "".join(rest[:half]))
            archive.writestr("readme.pdf", "no table")
            archive.writestr("psam_pusb.CSV", first + "".join(rest[half:]))
    else:
        path.write_text(content)
    return path


@pytest.mark.parametrize("kind", ["csv", "gz", "zip"])
def test_the_papers_tables_come_out_of_every_packing(tmp_path, everybody, kind, monkeypatch):
    monkeypatch.setattr(pums_file, "_BLOCK", 20_000)
    path = packed(tmp_path, kind, everybody)
    for name in names("pums")[:: 1 if kind == "csv" else 5]:
        made = tabulate(path, name[4:], ("RAC1P", "HISP"))
        np.testing.assert_array_equal(made.table, data_set(name).table)
        assert made.agrees is True
        assert made.persons == data_set(name).table.sum()
    turned = tabulate(path, name[4:], ("HISP", "RAC1P"))
    np.testing.assert_array_equal(turned.table.T, made.table)
    assert turned.agrees is True


def test_another_years_people_do_not_agree(tmp_path):
    path = packed(tmp_path, "csv", text(people_of("PUMA0101301")[1:]))
    assert tabulate(path, "0101301", ("RAC1P", "HISP")).agrees is False
    assert tabulate(path, "0101301", ("RAC1P", "SEX")).agrees is None
    assert tabulate(path, "0101301", ("RAC1P", "HISP"), weighted=True).agrees is None


PEOPLE = st.lists(
    st.tuples(
        st.sampled_from(["0101301", "0101302"]),
        st.integers(0, 99999),
        st.integers(1, 2),
        st.integers(1, 24),
        st.integers(1, 9),
        st.sampled_from(["", "01", "9", "24"]),
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=30)
@given(people=PEOPLE, weighted=st.booleans())
def test_any_people_are_counted_as_by_hand(tmp_path_factory, people, weighted):
    folder = tmp_path_factory.mktemp("people")
    path = packed(folder, "csv", text([person(*p) for p in people]))
    schools = ["blank", *(str(v) for v in range(1, 25))]
    expected = np.zeros((2, 9, 25), dtype=int)
    for area, weight, sex, _, race, school in people:
        if area == "0101301":
            place = schools.index(school.lstrip("0") or "blank")
            expected[sex - 1, race - 1, place] += weight if weighted else 1
    inside = sum(p[0] == "0101301" for p in people)
    if not inside:
        with pytest.raises(InputError, match="no person in state 01 and area 01301"):
            tabulate(path, "0101301", ("SEX", "RAC1P", "SCHL"), weighted=weighted)
        return
    made = tabulate(path, "0101301", ("SEX", "RAC1P", "SCHL"), weighted=weighted)
    np.testing.assert_array_equal(made.table, expected)
    assert made.persons == inside
    write_table(made, folder / "t.csv")
    schema = load_schema(schema_path(folder / "t.csv"))
    assert schema == made.schema
    if weighted:
        with pytest.raises(InputError, match="weighted table"):
            read_table(folder / "t.csv", schema)
    else:
        np.testing.assert_array_equal(read_table(folder / "t.csv", schema), expected)


def test_columns_of_other_years(tmp_path):
    header = ["STATE" if h == "ST" else "PUMA10" if h == "PUMA" else h for h in HEADER]
    path = packed(tmp_path, "csv", text([person()], header))
    with pytest.raises(InputError, match="it has PUMA10: choose with --puma-column"):
        tabulate(path, "0101301", ("SEX",))
    assert tabulate(path, "0101301", ("SEX",), area_column="PUMA10").table.tolist() == [1, 0]


def test_variables_that_are_not_known_need_their_values(tmp_path):
    path = packed(tmp_path, "csv", text([person()], [h.replace("AGEP", "JWTR") for h in HEADER]))
    with pytest.raises(InputError, match="'JWTR' are not known, and they are never taken from"):
        tabulate(path, "0101301", ("JWTR",))
    made = tabulate(path, "0101301", ("JWTR",), values=dict([parse_values("JWTR=blank,030-33")]))
    assert made.schema.values == (("blank", "30", "31", "32", "33"),)
    assert made.table.tolist() == [0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("content", "by", "message"),
    [
        ("", ("SEX",), "is empty"),
        ("a,b\n1,2\n", ("SEX",), "has no column ST or STATE"),
        (text([person()]), ("SEX", "MAR"), "has no column 'MAR'"),
        (text([person(), person(sex=3)]), ("SEX",), "row 3, column 'SEX': the value is not one"),
        (text([person(), person(school="zz")]), ("SCHL",), "row 3, column 'SCHL': the value"),
        (text([person()]) + "1,SECRET\n", ("SEX",), "row 3: not one field a column"),
        ("ST,PUMA,SEX,SEX\n1,01301,1,2\n", ("SEX",), "names column 'SEX' twice"),
        ("ST,ST,PUMA,SEX\n1,1,01301,1\n", ("SEX",), "names column 'ST' twice"),
        (text([person()]), (), "no variable is named"),
        (text([person()]), ("SEX", "SEX"), "each name must occur once"),
    ],
)
def test_what_cannot_be_tabulated_is_refused(tmp_path, content, by, message):
    path = packed(tmp_path, "csv", content)
    with pytest.raises(InputError, match=message) as caught:
        tabulate(path, "0101301", by)
    assert "SECRET" not in str(caught.value)


def test_bad_weights_are_named_by_row(tmp_path):
    bad = person()
    bad[HEADER.index("PWGTP")] = "x"
    path = packed(tmp_path, "csv", text([person(), bad]))
    with pytest.raises(InputError, match="row 3, column 'PWGTP': not a whole number"):
        tabulate(path, "0101301", ("SEX",), weighted=True)


@pytest.mark.parametrize("kind", ["gz", "zip"])
def test_damaged_archives_are_refused(tmp_path, everybody, kind):
    path = packed(tmp_path, kind, everybody)
    whole = bytearray(path.read_bytes())
    if kind == "gz":
        path.write_bytes(whole[: len(whole) // 2])
    else:
        whole[2000:2100] = bytes(100)
        path.write_bytes(whole)
    with pytest.raises(InputError, match="is damaged"):
        tabulate(path, "0101301", ("RAC1P", "HISP"))
    empty = tmp_path / "empty.zip"
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("readme.txt", "")
    with pytest.raises(InputError, match=r"without a \.csv file"):
        tabulate(empty, "0101301", ("RAC1P", "HISP"))


@pytest.mark.parametrize("area", ["", "101301", "01013011", "0101e01", "01 1301", "٠١٠١٣٠١"])
def test_areas_are_seven_digits(area):
    with pytest.raises(InputError, match="must be seven digits"):
        parse_area(area)


@pytest.mark.parametrize("given_text", ["MIL", "=1-4", "MIL=", "MIL=1,,2"])
def test_values_have_a_form(given_text):
    with pytest.raises(InputError, match="needed is a variable, an equal sign"):
        parse_values(given_text)


@pytest.mark.parametrize("span", ["4-1", "1-99999999999", "0-2000000", "1-" + "9" * 5000])
def test_ranges_of_values_rise_and_have_an_end(span):
    with pytest.raises(InputError, match="are no range of codes"):
        parse_values(f"MIL={span}")


@pytest.mark.parametrize("out", ["", ".", "there.csv", "none/area.csv", "folder", "new"])
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_read(
    tmp_path, monkeypatch, capsys, out
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").write_text("mine")
    (tmp_path / "new.schema.json").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "persons.csv").write_bytes(b"never read")
    with pytest.raises(SystemExit) as stop:
        cli.main(["tabulate", "persons.csv", "--puma", "0101301", "--by", "SEX", "--out", out])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert "never overwritten" in error or "does not exist" in error or "no name" in error
    assert (tmp_path / "there.csv").read_text() == "mine"


def test_a_variables_values_are_given_once(tmp_path, capsys):
    (tmp_path / "persons.csv").write_text(text([person()]))
    given = ["--values", "MIL=1-2", "--values", "MIL=1-4", "--by", "MIL"]
    with pytest.raises(SystemExit) as stop:
        cli.main(
            [
                "tabulate",
                str(tmp_path / "persons.csv"),
                "--puma",
                "0101301",
                *given,
                "--out",
                str(tmp_path / "area.csv"),
            ]
        )
    assert stop.value.code == 2
    assert "'MIL' is given twice" in capsys.readouterr().err


def test_memory_does_not_grow_with_the_file(tmp_path):
    """A person file six times as large needs no more memory, and both far less than they hold."""
    block = "".join(text([person(), person("0101302")] * 2000).splitlines(keepends=True)[1:])
    block = block.replace(",-3\n", "," + ",".join(["-00012"] * 80) + "\n")
    header = ",".join([*HEADER[:-1], *(f"PWGTP{k}" for k in range(1, 81))]) + "\n"
    repeats = [size // len(block) for size in (20_000_000, 120_000_000)]
    for name, count in zip(("small", "large"), repeats, strict=True):
        with gzip.open(tmp_path / name, "wt", compresslevel=1) as stream:
            stream.write(header)
            for _ in range(count):
                stream.write(block)
    code = (
        "import pathlib, re, resource, sys\n"
        "from microdata_price.tables.tabulate import tabulate\n"
        "def peak():\n"
        "    status = pathlib.Path('/proc/self/status')\n"
        "    if status.exists():\n"  # There getrusage counts what the tests held at the fork, too.
        "        return re.search(r'VmHWM:\\s+(\\d+) kB', status.read_text())[1]\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "for path in sys.argv[1:]:\n"
        "    made = tabulate(pathlib.Path(path), '0101301', ('SEX', 'RAC1P'))\n"
        "    print(made.persons, peak())\n"
    )
    files = [str(tmp_path / name) for name in ("small", "large")]
    run = subprocess.run(
        [sys.executable, "-c", code, *files], capture_output=True, text=True, check=True
    )
    (few, small), (many, large) = (map(int, line.split()) for line in run.stdout.splitlines())
    assert [few, many] == [2000 * count for count in repeats]
    assert large - small < 50 * 1024  # A hundred megabytes more of text.
    assert large < 512 * 1024


def run(capsys, *words):
    with pytest.raises(SystemExit) as stop:
        cli.main(list(words))
    printed = capsys.readouterr()
    return stop.value.code or 0, printed.out, printed.err


def test_the_command(tmp_path, everybody, capsys):
    path = packed(tmp_path, "csv", everybody)
    out = tmp_path / "area.csv"
    words = ["tabulate", str(path), "--puma", "0101301", "--by", "RAC1P", "--by", "HISP"]
    code, printed, error = run(capsys, *words, "--out", str(out))
    assert (code, error) == (0, "")
    assert "812 persons of area 0101301 in 9 x 24 cells" in printed
    assert "agrees with the paper's table" in printed
    schema = load_schema(tmp_path / "area.schema.json")
    np.testing.assert_array_equal(read_table(out, schema), data_set("PUMA0101301").table)
    code, printed, error = run(capsys, *words, "--out", str(out))
    assert (code, printed) == (2, "")
    assert "exists already" in error
    code, printed, error = run(
        capsys, *words, "--weighted", "--json", "--out", str(tmp_path / "w.csv")
    )
    assert (code, error) == (0, "")
    document = json.loads(printed)
    assert document["weighted"] is True
    assert document["persons"] == 812
    assert document["agrees_with_paper"] is None


def test_the_commands_help_shows_an_example(capsys):
    code, printed, _ = run(capsys, "tabulate", "--help")
    assert code == 0
    assert "  microdata-price tabulate psam_p01.csv --puma 0101301 --by RAC1P --by HISP" in printed
