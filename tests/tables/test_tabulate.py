"""Tables from person files: counts, weights, packings, blocks, damage, memory."""

import csv
import gzip
import io
import itertools
import json
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import run
from microdata_price import cli
from microdata_price.exceptions import InputError
from microdata_price.model.benchmark import data_set, names
from microdata_price.tables import pums as pums_file
from microdata_price.tables.csv_files import read_table
from microdata_price.tables.schema import load_schema, schema_path
from microdata_price.tables.tabulate import parse_area, parse_values, tabulate, write_table

HEADER = ["RT", "SERIALNO", "SPORDER", "PUMA", "ST", "ADJINC", "PWGTP", "AGEP", "SCHL", "SEX"]
HEADER += ["HISP", "RAC1P", "PWGTP1"]


SERIALS = itertools.count(2016000000012)


def person(area="0101301", weight=7, sex=1, hisp=1, race=1, school=""):
    fields = ["P", str(next(SERIALS)), "01", area[2:], area[:2], "1007588", f"{weight:05d}", "33"]
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
    rows += [person(area) for area in ("0101302", "0201301", "1001301") * 50]
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
    for area in (None, "PUMA10", "puma10"):
        made = tabulate(path, "0101301", ("SEX",), area_column=area)
        assert made.table.tolist() == [1, 0]
        assert "those of the column 'PUMA10'" in made.notes()[0]
    with pytest.raises(InputError, match="no column 'PUMA20'; it has PUMA10: choose with"):
        tabulate(path, "0101301", ("SEX",), area_column="PUMA20")


@pytest.mark.parametrize("none", ["-9", "-09", "-0009", "-00009", "", "-9.0"])
def test_files_of_five_years_have_two_columns_of_areas(tmp_path, none):
    header = [*("PUMA10" if h == "PUMA" else h for h in HEADER), "PUMA20"]
    old = [[*person(sex=1), none] for _ in range(3)]
    new = [[*person(sex=2), "01301"] for _ in range(2)]
    for row in new:
        row[header.index("PUMA10")] = none
    path = packed(tmp_path, "csv", text([*old, *new], header))
    with pytest.raises(
        InputError, match="PUMA20 and PUMA10: choose with --puma-column PUMA20; are"
    ):
        tabulate(path, "0101301", ("SEX",))
    for column, table, lost in (("PUMA10", [3, 0], 2), ("PUMA20", [0, 2], 3)):
        made = tabulate(path, "0101301", ("SEX",), area_column=column)
        assert made.table.tolist() == table
        assert f"{lost} persons of the state have no code in {column!r}" in made.notes()[1]


@pytest.mark.parametrize("state", ["1", "01", "1.0", " 01 "])
@pytest.mark.parametrize("area", ["1301", "01301", "1301.0"])
def test_codes_as_programs_write_them(tmp_path, state, area):
    rows = [person(), person(sex=2), person("0101302")]
    for row in rows[:2]:
        row[HEADER.index("ST")], row[HEADER.index("PUMA")] = state, area
        row[HEADER.index("SEX")] = f"{row[HEADER.index('SEX')]}.0"
    made = tabulate(packed(tmp_path, "csv", text(rows)), "0101301", ("SEX", "SCHL"))
    assert made.table.sum(axis=1).tolist() == [1, 1]
    assert made.met.others == 1


@pytest.mark.parametrize("way", ["", "0", "00", "N", "b", "bb", "B", "NA", "NaN", "nan", "."])
def test_empty_fields_in_every_form_of_the_bureau(tmp_path, way):
    path = packed(tmp_path, "csv", text([person(school=way), person(school="21")]))
    made = tabulate(path, "0101301", ("SCHL",))
    assert made.table[[0, 21]].tolist() == [1, 1]
    # Where a variable is never empty, or the way is a code of its own, it is none.
    with pytest.raises(InputError, match="is not one that is known"):
        tabulate(path, "0101301", ("SCHL",), values={"SCHL": tuple(map(str, range(1, 25)))})
    if way.strip("0") == "" and way:
        values = dict([parse_values("SCHL=blank,0-24")])
        assert tabulate(path, "0101301", ("SCHL",), values=values).table[:2].tolist() == [0, 1]


def api(rows, header=HEADER, **names):
    table = [[names.get(h, h) for h in header], *([v or None for v in row] for row in rows)]
    return "[" + ",\n".join(json.dumps(row) for row in table) + "]"


def test_answers_of_the_bureaus_api(tmp_path):
    people = [person(), person(sex=2, school="N"), person("0101302")]
    names = {"PUMA": "public use microdata area", "ST": "state"}
    path = packed(tmp_path, "json", api(people, **names))
    made = tabulate(path, "0101301", ("SEX", "SCHL"))
    assert made.table[:, 0].tolist() == [1, 1]
    assert made.table.sum() == made.persons == 2
    assert "'public use microdata area'" in made.notes()[0]
    made = tabulate(path, "0101301", ("SEX",), weighted=True)
    assert made.table.tolist() == [7, 7]
    few = [[row[HEADER.index(n)] for n in ("SEX", "PWGTP", "ST", "PUMA")] for row in people]
    path = packed(tmp_path, "json", api(few, ("SEX", "PWGTP", "state", "PUMA")))
    assert tabulate(path, "0101301", ("SEX",)).table.tolist() == [1, 1]
    for content, message in (
        ('[["ST"], ["1", "2"]]', "JSON of another form"),
        ("[1, 2]", "JSON of another form"),
        ("[]", "JSON of another form"),
        ('[["ST"], ["1"]', "is no JSON document"),
        ("[" * 100_000, "is no JSON document"),
    ):
        with pytest.raises(InputError, match=message):
            tabulate(packed(tmp_path, "json", content), "0101301", ("SEX",))


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_person_files_however_they_are_written(tmp_path, mark, encoding):
    content = text([person(), person(sex=2), person("0101302")]).replace(",", mark)
    for above in ("", f"sep={mark}\n"):
        for end in ("\n", "\r\n"):
            path = tmp_path / "persons.csv"
            path.write_bytes((above + content).replace("\n", end).encode(encoding))
            made = tabulate(path, "0101301", ("SEX",))
            assert (made.table.tolist(), made.met.others) == ([1, 1], 1)
    path.write_bytes((above + text([person(), person(sex=3)]).replace(",", mark)).encode())
    with pytest.raises(InputError, match="row 4, column 'SEX'"):
        tabulate(path, "0101301", ("SEX",))


def archive(folder, members):
    path = folder / "persons.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in members:
            out.writestr(name, content)
    return path


def test_nobody_is_counted_twice(tmp_path):
    people = [person(), person(sex=2)]
    once = text(people)
    other = text(people[::-1])
    for members, message in (
        ([("a.csv", once), ("copy/a.csv", once)], "the same file twice, a.csv and copy/a.csv"),
        ([("a.csv", once), ("b.csv", other)], r"row 2: this person \(SERIALNO and SPORDER\) has"),
    ):
        with pytest.raises(InputError, match=message):
            tabulate(archive(tmp_path, members), "0101301", ("SEX",))
    with pytest.raises(InputError, match="row 4: this person"):
        tabulate(packed(tmp_path, "csv", text([*people, people[0]])), "0101301", ("SEX",))


@pytest.mark.parametrize("name", ["n", "N", "Freq", "count", "population"])
def test_counts_beside_persons_are_doubtful(tmp_path, capsys, name):
    people = [[*person(sex=1 + k % 2), str(k * k)] for k in range(12)]
    path = packed(tmp_path, "csv", text(people, [*HEADER, name]))
    words = ["tabulate", path, "--puma", "0101301", "--by", "SEX", "--out", tmp_path / "t.csv"]
    code, out, err = run(capsys, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{name!r}, which is not among the variables, looks like counts; " in err
    assert not (tmp_path / "t.csv").exists()
    code, out, _ = run(capsys, *words, "--records")
    assert code == 0
    assert "12 persons" in out
    path.write_text(text([[*p[:-1], "x"] for p in people], [*HEADER, name]))
    assert tabulate(path, "0101301", ["SEX"]).persons == 12  # these are no numbers


def test_an_extract_that_tells_no_persons_apart_may_hold_cells(tmp_path):
    header = ["ST", "PUMA", "PWGTP", "SEX", "RAC1P", "seen"]
    cells = [
        ["01", "01301", "1", s, r, str(i * 7 % 11)]
        for i, (s, r) in enumerate(itertools.product("12", "123456789"))
    ]
    path = packed(tmp_path, "csv", text(cells, header))
    for by in (["SEX", "RAC1P"], ["SEX"]):
        with pytest.raises(InputError, match=r"'seen'.* no two rows agree in 'SEX' and 'RAC1P'"):
            tabulate(path, "0101301", by)
        assert tabulate(path, "0101301", by, records=True).persons == 18
    path.write_text(text(cells * 2, header))
    assert tabulate(path, "0101301", ["SEX"]).persons == 36


def test_what_a_system_leaves_in_an_archive_is_named_and_not_read(tmp_path):
    members = [("psam_p01.csv", text([person()])), ("__MACOSX/._psam_p01.csv", "\0\5\x16\7rest")]
    members += [("._a.csv", "x"), ("readme.pdf", "x")]
    made = tabulate(archive(tmp_path, members), "0101301", ("SEX",))
    assert made.table.tolist() == [1, 0]
    for name, _ in members[1:]:
        assert name in made.notes()[-1]
    households = text(
        [["H", "1", "01301", "1", "7", "2"]], ["RT", "SERIALNO", "PUMA", "ST", "WGTP", "NP"]
    )
    path = archive(tmp_path, [("p.csv", text([person()])), ("psam_h01.csv", households)])
    with pytest.raises(InputError, match=r"\(psam_h01.csv\) looks like a file of households"):
        tabulate(path, "0101301", ("SEX",))


def test_the_remedy_for_values_that_are_not_listed_works(tmp_path):
    people = [person(school=s) for s in ("", "1", "25", "26", "30", "X", "-1")]
    path = packed(tmp_path, "csv", text(people))
    with pytest.raises(InputError) as caught:
        tabulate(path, "0101301", ("SCHL",))
    given = re.search(r"--values (\S+)$", str(caught.value))[1]
    made = tabulate(path, "0101301", ("SCHL",), values=dict([parse_values(given)]))
    assert made.table.sum() == len(people)
    assert made.schema.values[0][:3] == ("blank", "1", "2")
    for odd in ("1,5", "a b", "<b>"):
        path = packed(tmp_path, "csv", text([person(school=odd)]))
        with pytest.raises(InputError, match="the file is damaged, or the column is another year"):
            tabulate(path, "0101301", ("SCHL",))


def test_who_is_not_there_is_told_why(tmp_path):
    path = packed(tmp_path, "csv", text([person("0201301"), person("0301301")]))
    with pytest.raises(InputError, match="its persons live in state 02, 03: take the file of that"):
        tabulate(path, "0101301", ("SEX",))
    with pytest.raises(InputError, match="code is another year's, or of another column"):
        tabulate(path, "0201302", ("SEX",))
    path = packed(tmp_path, "csv", text([]))
    with pytest.raises(InputError, match="has no rows below its header"):
        tabulate(path, "0201302", ("SEX",))


def test_names_of_columns_in_small_letters(tmp_path):
    path = packed(tmp_path, "csv", text([person()], [h.lower() for h in HEADER]))
    assert tabulate(path, "0101301", ("SEX",)).table.tolist() == [1, 0]


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
        ("ST,PUMA,SEX\n1,01301,1\n", ("SEX",), "has neither SPORDER nor PWGTP.*not a person file"),
        ("RT,SERIALNO,ST,PUMA,WGTP,NP,SEX\nH,1,1,01301,7,2,1\n", ("SEX",), "a file of households"),
        ("RT,SPORDER,ST,PUMA,SEX\nP,1,1,01301,1\nH,,1,01301,1\n", ("SEX",), "row 3: RT says"),
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
    people = [person(area, weight=40000) for area in ("0101301", "0101302") * 2000]
    block = "".join(text(people).splitlines(keepends=True)[1:])
    block = block.replace(",-3\n", "," + ",".join(["-00012"] * 80) + "\n")
    header = ",".join([*HEADER[:-1], *(f"PWGTP{k}" for k in range(1, 81))]) + "\n"
    repeats = [size // len(block) for size in (20_000_000, 120_000_000)]
    for name, count in zip(("small", "large"), repeats, strict=True):
        with gzip.open(tmp_path / name, "wt", compresslevel=1) as stream:
            stream.write(header)
            for k in range(count):
                stream.write(block.replace(",40000,", f",{40000 + k},").replace(",2016", f",{k}16"))
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


def test_variables_joined_by_a_comma_are_told_apart(tmp_path):
    with pytest.raises(InputError, match="write --by SEX --by MAR"):
        tabulate(tmp_path / "p.csv", "0101301", ("SEX,MAR",))


def test_rows_that_are_no_persons_are_told_apart_from_persons_elsewhere(tmp_path):
    people = [person(), person("0101302"), person(sex=2)]
    for more in ([[""] * len(HEADER)] * 2, [HEADER] * 2, [["Source: us", *[""] * 12]] * 2):
        path = tmp_path / "persons.csv"
        path.write_text(text([*people, *more]))
        made = tabulate(path, "0101301", ["SEX"])
        assert made.table.tolist() == [1, 1]
        assert "2 rows have no state's number" in made.notes()[0]
        assert "Not counted: 1 persons elsewhere" in made.notes()[1]
        table = tmp_path / "trailing.csv"
        table.write_text(text([*people, *more]).replace("\n", ",,\n"))
        assert tabulate(table, "0101301", ["SEX"]).table.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "has no rows below its header"),
        (
            [["P", "1", "1", "01301", "AL", "1", "1", "3", "", "1", "1", "1", "1"]],
            r"\(AL\): write the",
        ),
    ],
)
def test_files_without_numbers_of_states_say_so(tmp_path, rows, message):
    path = tmp_path / "persons.csv"
    path.write_text(text(rows))
    with pytest.raises(InputError, match=message):
        tabulate(path, "0101301", ["SEX"])


def test_options_that_are_nearly_right_are_answered_with_the_right_ones(tmp_path, capsys):
    path = tmp_path / "persons.csv"
    path.write_text(text([person()]))
    words = ["tabulate", path, "--puma", "0101301", "--out", tmp_path / "area.csv"]
    code, _, err = run(capsys, *words, "--by", "sex")
    assert (code, "as the Bureau does, SEX" in err) == (2, True)
    code, _, err = run(capsys, *words, "--by", "SEX", "--values", "SEX=1;2")
    assert (code, "write commas between values" in err) == (2, True)
    for name in ("area.csv.gz", "area.xlsx", "area.json"):
        code, _, err = run(capsys, *words[:-1], tmp_path / name, "--by", "SEX")
        assert (code, "ends with .csv" in err, (tmp_path / name).exists()) == (2, True, False)
