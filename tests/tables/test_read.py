"""Tables from files: what is exactly as the schema says is read, everything else is refused."""

import bz2
import gzip
import io
import lzma
import os
import re
import sys
import weakref
import zipfile
from decimal import Decimal
from pathlib import Path
from textwrap import dedent

import numpy as np
import openpyxl
import pandas as pd
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import refused, run
from microdata_price.exceptions import InputError
from microdata_price.tables.read import _FRAMES, _Quoted, read_matrix, read_table
from microdata_price.tables.schemas import Group, Rule, Schema, load_schema, parse_schema

ROOT = Path(__file__).parents[2]
SCHEMA = Schema(("region", "sex"), (("north", "south", "01"), ("f", "m")))
COUNTS = "region,sex,count\nnorth,f,3\nnorth,m,4\nsouth,f,5\n"
RECORDS = "region,sex\n" + "north,f\n" * 3 + "north,m\n" * 4 + "south,f\n" * 5
TABLE = [[3, 4], [5, 0], [0, 0]]
SECRET = "Mrs-Smith-of-Hill-Street"
COUNTY = Group("county", "tract", ("A", "B"), (("a1", "a2"), ("b1",)))
TRACTS = Schema(("tract",), (("a1", "a2", "b1"),), groups=(COUNTY,))


@pytest.fixture
def read(tmp_path):
    def reading(data, schema=SCHEMA, where=None, name="t.csv"):
        (path := tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        return read_table(path, schema, where).tolist()

    return reading


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path.read_bytes()


def test_nothing_of_a_file_is_held_once_it_is_read(read, monkeypatch):
    """A thread of Arrow's that lets go of it while Python ends would crash the program."""
    files, start = [], _Quoted.__init__
    note = lambda self, *given: files.append(weakref.ref(self)) or start(self, *given)  # noqa: E731
    monkeypatch.setattr(_Quoted, "__init__", note)
    for _ in range(100):
        read(COUNTS)
        assert files.pop()() is None


@pytest.mark.parametrize("text", [COUNTS, RECORDS])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        *(("t.csv", str.encode), ("t.txt", lambda t: t.replace(",", ";").encode())),
        ("t.tsv", lambda t: t.replace(",", "\t").encode()),
        ("t.csv", lambda t: t.replace("\n", "\r\n").encode("utf-8-sig")),
        ("t.csv", lambda t: t.encode("utf-16")),
        ("t.csv", lambda t: t.replace("north", ' "north"').replace(' "', '"').encode()),
        *(("t.csv", lambda t, n=n: t.replace("\n", n).encode()) for n in ("\r", "\n\n")),
        ("t.csv", lambda t: t.replace(",f", ", f ").encode()),
    ],
)
def test_one_table_in_many_forms(read, text, name, change):
    assert read(change(text), name=name) == TABLE


@pytest.mark.parametrize(("name", "by"), [("t.csv.gz", gzip), ("t.bz2", bz2), ("t.csv.XZ", lzma)])
def test_every_byte_of_a_packed_file_is_read(read, name, by):
    head, rest = by.compress(RECORDS[:50].encode()), by.compress(RECORDS[50:].encode())
    assert read(head + rest, name=name) == TABLE
    for more in (b"X" + rest[1:], b"X", rest[:2], rest[:-9], rest + rest[1:]):
        with pytest.raises(InputError, match="is damaged"):
            read(head + more, name=name)


@given(st.text('",;\n\ra'), st.integers(1, 9), st.sampled_from(",;"))
def test_quotation_marks_are_fine_around_whole_fields_alone(text, size, mark):
    quoted, field = _Quoted(io.BytesIO(text.encode()), mark), f'("([^"]|"")*"|[^"{mark}\r\n]*)'
    same = text + "\n" * (len(text) % size > 0 and text[-1] not in "\r\n")
    assert b"".join(iter(lambda: quoted.read(size), b"")) == same.encode()
    fine = re.fullmatch(f"{field}([{mark}\r\n]{field})*", text)
    assert (quoted.fine and not quoted.marks % 2) == bool(fine)


@pytest.mark.parametrize("reading", [read_matrix, lambda path: read_table(path, SCHEMA)])
def test_a_pipe_which_can_be_read_only_once_is_refused_and_what_is_not_there(tmp_path, reading):
    for ending in (".csv", ".zip", *WRITERS):
        os.mkfifo(tmp_path / f"pipe{ending}")
        for name, said in (("pipe", "a pipe"), ("none", "missing"), ("x" * 300, "long|missing")):
            with pytest.raises(InputError, match=said):
                reading(tmp_path / f"{name}{ending}")


def test_zip_archives_hold_one_file(read, tmp_path):
    made = tmp_path / "made.zip"
    assert read(zipped(made, {"t.csv": COUNTS, "__MACOSX/._t.csv": "x"}), name="t.zip") == TABLE
    for files in ({"a.csv": COUNTS, "copy/a.csv": COUNTS}, {}):
        with pytest.raises(InputError, match=f"holds {len(files)} files"):
            read(zipped(made, files), name="t.zip")
    with pytest.raises(InputError, match="is two archives in one"):
        read(2 * zipped(made, {"t.csv": COUNTS}), name="t.zip")


def spss(frame, path):
    """Write labelled codes, as SPSS has them."""
    codes, labels = frame["sex"].cat.codes, dict(enumerate(frame["sex"].cat.categories))
    named = {"variable_value_labels": {"sex": labels}, "compress": path.suffix == ".zsav"}
    pyreadstat.write_sav(frame.assign(sex=codes), path, **named)


WRITERS = {
    ".parquet": lambda frame, path: frame.set_index(frame.columns[-1]).to_parquet(path),
    ".dta": lambda frame, path: frame.to_stata(path, write_index=False),
    ".xlsx": lambda frame, path: frame.to_excel(path, index=False),
    **dict.fromkeys((".sav", ".zsav"), spss),
}


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("ending", WRITERS)
def test_files_of_other_programs_are_read_as_csv_is(tmp_path, read, monkeypatch, ending, counted):
    rows = [r.split(",") for r in (COUNTS if counted else RECORDS).split()]
    frame = pd.DataFrame(rows[1:], columns=rows[0])
    frame["sex"] = pd.Categorical(frame["sex"])
    if counted:
        frame["count"] = frame["count"].astype(float)  # as numbers are where some were missing
    path = tmp_path / f"t{ending}"
    WRITERS[ending](frame, path)
    assert read_table(path, SCHEMA).tolist() == TABLE
    frame.loc[2, "region"] = None
    WRITERS[ending](frame, path)
    with pytest.raises(InputError, match=r"1 row \(4\): the schema does not list .* 'region'"):
        read_table(path, SCHEMA)
    with pytest.raises(InputError, match="is damaged, locked, or not what its name says"):
        read(path.read_bytes()[:-200], name=path.name)
    if (package := _FRAMES[ending][1]) in ("openpyxl", "pyreadstat"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(InputError, match=f"needs the package {package}: install it, or use"):
            read_table(path, SCHEMA)


DAY, NINE, OLD = (pd.Timestamp(t) for t in ("2020-01-31", "2020-01-31 09:30", "1850-01-01"))
MONEY = ("1.00", "2.50", "12345678901234567890123456789012345.00")
ODD = [None, False, 0, 1.5, 2.0, "1", 2**60, NINE, OLD, "x"]


@pytest.mark.parametrize(
    ("ending", "kind", "values", "texts", "odd"),
    [
        (".xlsx", object, [True, 1, "f", DAY], ["True", "1", "f", "2020-01-31"], ODD),
        (".csv", object, [True, 1, "f", NINE], ["True", "1", "f", NINE], ODD),
        (".parquet", "Int64", [2**60 + 1, 2**53 + 1, 3], [2**60 + 1, 2**53 + 1, 3], [None, 2**62]),
        (".parquet", object, [*map(Decimal, MONEY)], ["1", "2.5", MONEY[2][:-3]], [None]),
        (".parquet", object, [b"x", "ñ".encode()], ["x", "ñ"], [None, b"z"]),
        (".parquet", "boolean", [True, False], ["True", "False"], [None]),
        (".parquet", "float32", [17.5, 0.7, 3], ["17.5", "0.7", "3"], [np.nan, np.inf, 1e30, 0.1]),
        (".parquet", "category", [2**53 + 1, 3], [2**53 + 1, 3], [None, 4]),
        (".parquet", object, ["x 00:00:00", "x"], ["x 00:00:00", "x"], [None, ""]),
        (".parquet", "datetime64[ns]", [DAY, NINE], [str(DAY)[:10], NINE], [None, OLD]),
        (".dta", "datetime64[ms]", [DAY, NINE], [str(DAY)[:10], NINE], [None, OLD]),
        (".sav", "datetime64[us]", [DAY, NINE], [str(DAY)[:10], NINE], [None, OLD]),
        (".dta", "Int32", [1, 2], ["1", "2"], [None, 7]),
        (".dta", "float32", [17.5, 0.7, 3], ["17.5", "0.7", "3"], [np.nan, 1e30]),
        (".dta", "category", ["f", "m"], ["f", "m"], [None, "1"]),
        (".sav", float, [1, 2, 1.5, 3], ["f", "2", "1.5", "3"], [np.nan, 7.5, 2**53, 1e30]),
    ],
)
def test_one_more_record_changes_one_cell_by_one(tmp_path, ending, kind, values, texts, odd):
    named = {"variable_value_labels": {"v": {1: "f"}}} if kind is float else {}
    save = WRITERS | {
        ".csv": lambda frame, path: frame.to_csv(path, index=False),
        ".sav": lambda frame, path: pyreadstat.write_sav(frame, path, **named),
    }
    schema = Schema(("v", "k"), ((*texts, "none"), ("x",)), (Rule("none", "none"), Rule()))

    def table(values):
        frame = pd.DataFrame({"v": pd.Series(values, dtype=kind), "k": "x"})
        save[ending](frame, tmp_path / f"t{ending}")
        return read_table(tmp_path / f"t{ending}", schema).ravel()

    before = table(values * 2)
    assert before.tolist() == [2] * len(texts) + [0]
    for more in odd:
        for rows in ([more, *values, *values], [*values, *values, more]):
            assert sorted(table(rows) - before) == [0] * len(texts) + [1]


@given(st.lists(st.integers(0, 10**12), min_size=6, max_size=6), st.permutations(range(6)))
def test_what_is_written_is_read(tmp_path_factory, counts, order):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    frame = SCHEMA.frame().assign(count=counts).iloc[order]
    frame[frame["count"] > 0].to_csv(path, index=False) if any(counts) else frame.to_csv(path)
    schema = parse_schema(SCHEMA.to_json()[:-2] + ', "totals": false, "ignore": [""]}')
    assert read_table(path, schema).ravel().tolist() == counts


def test_a_sheet_s_columns_of_one_name_are_told_and_no_content_in_a_warning(tmp_path, recwarn):
    """A number that is no date, in a column of dates: openpyxl's warning quotes it."""
    book, path = openpyxl.Workbook(), tmp_path / "t.xlsx"
    pd.DataFrame([["f", "m"]], columns=["sex", "sex "]).to_excel(path, index=False)
    with pytest.raises(InputError, match="'sex' twice"):  # pandas would call the second "sex.1"
        read_table(path, Schema(("sex",), (("f", "m"),), ignore=("*",)))
    for row in (["sex", "count"], ["f", 3], ["m", 98765432101], ["#N/A", 1]):
        book.active.append(row)
    book.active["B3"].number_format = "yyyy-mm-dd"
    book.save(path)
    with pytest.raises(InputError, match=r"1 row \(4\): .* 'sex'; 1 row \(3\): column 'count'"):
        read_table(path, Schema(("sex",), (("f", "m", "n"),), (Rule(empty="n"),)))
    assert not recwarn.list


def test_of_a_workbook_the_first_sheet_of_cells_is_read_hidden_or_not(tmp_path):
    book, path = openpyxl.Workbook(), tmp_path / "t.xlsx"
    book.create_chartsheet("chart", 0).add_chart(openpyxl.chart.BarChart())
    hidden, data = book["Sheet"], book.create_sheet("data")
    hidden.sheet_state = "hidden"
    no_table = (None, "empty first sheet; put"), ("x", "'sex'; its first row .* sheet, hidden or")
    for cell, said in (*no_table, ("", "Excel has a sheet of cells")):
        hidden["A1"] = cell
        for sheet in (hidden, data) * (cell == ""):
            book.remove(sheet)
        book.save(path)
        with pytest.raises(InputError, match=said):
            read_table(path, ALONE)


@pytest.mark.parametrize("label", [{}, {"value_labels": {"x": {-1: "no"}}}])
def test_decimals_of_32_bits_stay_those_that_were_written_also_beside_labels(tmp_path, label):
    frame = pd.DataFrame({"x": np.array([0.7, 0.7, -1, 0.1, 5], dtype="float32")})
    frame.to_stata(path := tmp_path / "t.dta", write_index=False, **label)
    schema = parse_schema('{"columns": {"x": {"cuts": [0, 0.7], "other": "no"}}}')
    assert read_table(path, schema).tolist() == ([0, 1, 3, 1] if label else [1, 1, 3, 0])


def test_an_index_kept_as_a_range_is_a_column_and_a_folder_s_name_none(tmp_path):
    (path := tmp_path / "region=01" / "t.parquet").parent.mkdir()
    pd.DataFrame({"sex": ["f", "m"], "count": [3, 4]}).set_index("count").to_parquet(path)
    path = path.rename(path.with_name("no UTF-8 \udcff.parquet"))
    assert read_table(path, Schema(("sex",), (("f", "m"),))).tolist() == [3, 4]


def test_a_damaged_file_is_called_damaged(tmp_path):
    """Of places before an archive's beginning the system complains; Parquet's text is read late."""
    zipped(tmp_path / "t.zip", {"t.csv": COUNTS})
    frame = pd.DataFrame({"region": ["north"], "sex": ["female"]})
    frame.to_parquet(tmp_path / "t.parquet", compression=None)
    for name, old, new in (("t.zip", b"PK\3\4", b""), ("t.parquet", b"female", b"fe\xffale")):
        path = tmp_path / name
        path.write_bytes(path.read_bytes().replace(old, new))
        with pytest.raises(InputError, match="damaged"):
            read_table(path, SCHEMA)


@pytest.mark.parametrize(("ending", "form"), [("dta", "%td"), ("sav", "DATE11")])
def test_a_date_that_cannot_be_read_is_found(tmp_path, ending, form):
    frame, path = pd.DataFrame({"k": 1e300, "v": [1e300, 1.0, 2.0]}), tmp_path / f"t.{ending}"
    getattr(pyreadstat, f"write_{ending}")(frame, path, variable_format={"v": form})
    with pytest.raises(InputError, match=r"row 3 or 2 of 'v': a date"):
        read_table(path, SCHEMA)


def test_rules_say_where_fields_are_counted(read):
    schema = parse_schema(
        '{"columns": {"age": {"cuts": [18], "empty": "none"}, "job": {"values": ["nurse"], '
        '"other": "other"}}, "ignore": "*"}'
    )
    text = "id,age,job\n1,17.9,nurse\n2,,nurse\n3,18,\u00e9\n4,-1,poet\n5,below 18,other\n"
    assert read(text, schema) == [[1, 2], [0, 1], [1, 0]]
    said = r"1 row \(4\): .* in 'age'; 2 rows \(2, 3\): .* in 'job', or it is empty$"
    with pytest.raises(InputError, match=said):  # not UTF-8, so no other value; nor is nothing
        read(b"id,age,job\n1,17,\xe9\n2,17,\n3,x,nurse\n", schema)


def test_groups_must_agree_and_impossible_rows_are_counted_and_named_without_advice(read):
    assert read("county,tract\nA,a1\nB,b1\nA,a1\n", TRACTS) == [2, 0, 1]
    assert read("tract\nb1\n", TRACTS) == [0, 0, 1]
    with pytest.raises(InputError, match=r"2 rows \(3, 5\): 'county' is not the group"):
        read("county,tract\nA,a1\nA,b1\nB,b1\n,b1\n", TRACTS)
    columns, values = ("age", "status"), (("child", "adult"), ("single", "married"))
    wrong = (("age", ("child",)), ("status", ("married",)))
    schema = Schema(columns, values, impossible=(wrong,))
    text = "age,status\n" + "adult,married\n" * 3
    assert read(text + "child,single\n", schema) == [1, 0, 3]
    with pytest.raises(InputError, match=r"12 rows \(5, [\d, ]*14, ...\): .* of 'age', 'status' c"):
        read(text + "child,married\n" * 12, schema)


def test_only_rows_that_are_asked_for_are_read(read):
    text = "ST,sex,region\n1,f,north\n2,?,?\n1,m,01\n"
    assert read(text, SCHEMA, {"ST": "1"}) == [[1, 0], [0, 0], [0, 1]]
    assert read(text, SCHEMA, {"ST": " 1 ", "sex": "m"}) == [[0, 0], [0, 0], [0, 1]]
    for empty in ("ST,sex,region", "ST,sex,region,count\n", "sex,ST,region\nm,1,01\n?,?,\n"):
        assert not np.any(read(empty, SCHEMA, {"ST": "01"}))  # as if the last of an area had left
    rules = Rule(cuts=(18.0, 65.0), empty="none"), Rule(other="x", empty="x")
    ruled = Schema(("age", "job"), (("young", "middle", "old", "none"), ("nurse", "x")), rules)
    people = "age,job\n20,nurse\n30,pilot\n,x\n17,\n"
    for column, value, cells in (("age", "middle", [1, 1]), ("age", "none", [0, 1])):
        table = read(people, ruled, {column: value})  # of the very cells that it has without it
        assert (table[ruled.values[0].index(value)], np.sum(table)) == (cells, sum(cells))
    assert np.sum(read(people, ruled, {"job": "x"})) == 3
    with pytest.raises(InputError, match="'job' cannot be 'pilot'"):
        read(people, ruled, {"job": "pilot"})
    latin = text.replace("1,f", "K\xf6ln,f").encode("latin-1")
    for data, where, said in (
        (text, {"PUMA": "1"}, "no column 'PUMA'"),
        (text, {"region": "1"}, "'region' cannot be '1'"),
        (COUNTS, {"count": "4"}, "cannot choose cells by their counts"),  # they are secret
        (COUNTS.replace("count", "Count"), {"Count": "4"}, "of cells say"),
        (latin, {"ST": "Köln"}, r"1 row \(2\): 'ST' is not UTF-8"),
    ):
        with pytest.raises(InputError, match=said):
            read(data, SCHEMA, where)
    # Rows are counted over all blocks in which a large file is read, those left out as well.
    large = "sex,region,note\n" + f"f,north,{'x' * 2**20}\n" * 30 + "m,?,\n"
    with pytest.raises(InputError, match=r"1 row \(32\): .* 'region'"):
        read(large, schema_with(ignore=("note",)), {"sex": "m"})


def schema_with(**more):
    return Schema(SCHEMA.columns, SCHEMA.values, **more)


EMPTY = Schema(("sex", "age"), (("1", "2", "n"), ("0", "n")), (Rule(empty="n"), Rule(empty="n")))
ALONE = Schema(("sex",), (("1", "n"),), (Rule(empty="n"),))
THREE = Schema(("region",), (("a", "b", "Total"),))
NO_TEXT = b"PK\3\4\0\0", COUNTS.encode("utf-16-le"), b"\xd0\xcf\x11\xe0\0"
ODD_LABELS = ("=n", "begins as formulas"), ("n\u200b", r"U\+200B, invisible")


@pytest.mark.parametrize(
    ("text", "schema", "message"),
    [
        ("", SCHEMA, "no column 'region', 'sex'"),
        ("region,sex\nnorth,f\nwest,f\nnorth,f\n,m\n", SCHEMA, r"2 rows \(3, 5\): .* 'region'"),
        ("region,sex,count\nnorth,f,3\nnorth,m,1\nnorth,f,0\n", SCHEMA, r"1 row \(4\): an earlier"),
        *(
            (f"region,sex,count\nnorth,f,1\nnorth,m,{n}\n", SCHEMA, r"1 row \(3\): column 'count'")
            for n in ("", "-1", "1.5", "1e3", "1_000", '"1,000"', "٣", str(10**13 + 1), "NA", "2.0")
        ),
        # All faults of a file are told at once.
        (f"{COUNTS}x,f,1\nsouth,x,1\nsouth,m,x\nsouth,f,3\n", SCHEMA, r"(?s)(1 row \(.*){4}"),
        ("region,sex,n\nnorth,f,3\n", SCHEMA, "'n', which the schema does not list"),
        (f"region,sex,{','.join('abcdefghijk')}\n", SCHEMA, r"'j', \.\.\., which the schema does"),
        *(
            (f"region,sex,count{mark}north,f,3\nnorth,m,1\n", SCHEMA, "which the schema does not")
            for mark in "\x0b\x1c\x85\u2028"  # none ends a line of a CSV file
        ),
        pytest.param("a" * 2**21, SCHEMA, "no column 'region', 'sex'", id="long"),
        ("region,sex,sex\nnorth,f,m\n", SCHEMA, "'sex' twice"),
        ("sep=,\nregion,sex\nnorth,f\n", SCHEMA, "its first row"),
        (COUNTS, schema_with(layout="records"), 'schema says "layout": "records": of cells say'),
        (COUNTS.replace("count", "Count"), schema_with(ignore=("*",)), 'say .* "count": "Count"'),
        (COUNTS, schema_with(layout="counts", count="n"), "no column 'n'"),
        ("region,sex\nnorth,f\n\nnorth\n", SCHEMA, r"row 3, is damaged.* as many fields"),
        *(
            (f"region,sex,n\nnorth,f,{note}\nsouth,f,3\n", schema_with(ignore=("n",)), "stray")
            for note in ('"2', '5" pipe\nnorth,f,"quoted', '"she said\nnorth,f,fine" she said')
        ),
        ("RT,sex,age\nH,,\nP,1,0\nP,2,0\nH,,\n", EMPTY, "does not list"),
        ("region,sex\n,\n", SCHEMA, r"csv, 1 row \(2\): all columns are.* where one is$"),
        ("sex,age\n,\n1,0\n2,0\n,\n", EMPTY, r"2 rows \(2, 5\): all columns are"),
        ("sex,age,count\n,,4\n1,0,-1\n", EMPTY, r"1 row \(3\): column 'count'"),  # a cell may be
        ("sex\n1\n\n1\n", ALONE, r"1 row \(3\): all columns"),
        ("region,count\na,1\nb,2\nTotal,3\n", THREE, r"'Total' \(region\) counts what"),
        *((data, SCHEMA, "is no text; give CSV in UTF-8") for data in NO_TEXT),
    ],
)
def test_what_is_not_as_the_schema_says_is_refused(read, text, schema, message):
    with pytest.raises(InputError, match=message):
        read(text, schema)


@pytest.mark.parametrize("head", ["region,sex\n", "region,sex,count\nnorth,f,1\n", ""])
@pytest.mark.parametrize("row", ["north,{0}", 'north,"{0}', "north,m,{0}", "{0},m,2", "{0},f"])
def test_no_refusal_repeats_what_is_in_the_file(read, head, row):
    with pytest.raises(InputError) as error:
        read(f"{head}{row.format(SECRET)}\nnorth,m\n")
    assert (SECRET in str(error.value), error.value.__cause__) == (False, None)


def test_columns_that_need_not_be_read_may_hold_anything_and_totals_are_told(read):
    text = f'region,sex,note\n01,f,"{"x" * 200_000}"\n01,m,"a\nb"\n'
    assert read(text, schema_with(ignore=("note", "absent"))) == [[0, 0], [0, 0], [1, 1]]
    text = text.replace("note", '"' + 'x;""' * 2**19 + '"')  # a name may be long as well
    assert read(text, schema_with(ignore=("*",))) == [[0, 0], [0, 0], [1, 1]]
    assert read(COUNTS, schema_with(layout="records", ignore=("count",)))[0] == [1, 1]
    schema = Schema(THREE.columns, THREE.values, totals=False)
    assert read("region,count\na,1\nb,2\nTotal,3\n", schema) == [1, 2, 3]
    assert read("region\na\nb\nTotal\nTotal\n", THREE) == [1, 1, 2]


@pytest.mark.parametrize(
    ("text", "columns", "table"),
    [
        (",f,m\nx,3,4\ny,0,9\n", ("row", "column"), [[3, 4], [0, 9]]),
        ("地区;女;男\n北;1;2\n南;3;4\n", ("地区", "column"), [[1, 2], [3, 4]]),
        ("region,count\nx,3\ny,4\n", ("region",), [3, 4]),
        ("Column,f,m\nx,3,4\n", ("Column", "heading"), [[3, 4]]),
    ],
)
def test_a_matrix_of_counts_has_its_own_schema(tmp_path, text, columns, table):
    (path := tmp_path / "m.csv").write_text(text)
    schema, found = read_matrix(path)
    assert (schema.columns, found.tolist()) == (columns, table)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *(("", "labels in its first row"), ("town,f,m\n", "labels in its first column")),
        ("Hill,41,87\nLake,130,12\n", "labels in its first row"),  # its headings are missing
        (",region,sex,count\n0,north,f,3\n1,north,m,4\n", "labels in its first column"),
        *((f"town,f,m\nx,1,2\n{row},3,4\n", "labels in its first column") for row in ("x", "")),
        ("town,f,m\nx,1,2.5\ny,?,4\n", r"1 row \(3\): column 'f' .* 1 row \(2\): column 'm'"),
        ("f,f,m\nx,1,2\n", "labels in its first row, .* a value twice"),  # the corner is one, too
        *((f"town,f,m\n{n},1,2\n", f"first column.* value .*{said}") for n, said in ODD_LABELS),
        *((f"{n},f,m\nx,1,2\n", f"^the column .* {said}.*") for n, said in ODD_LABELS),
        ("d,owner,tenant,All\nHill,4,8,12\nLake,3,0,3\n", r"'All' \(column\).*leave it out"),
        ("d,owner,tenant\nHill,4,8\nLake,3,0\nBoth,7,8\n", r"'Both' \(d\).*a matrix"),
    ],
)
def test_what_is_no_matrix_of_counts_is_refused(tmp_path, text, message):
    (path := tmp_path / "m.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_matrix(path)


PAGE = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
BLOCKS = [dedent(block) for block in re.findall(r"(?:^ {4}.*\n)+", PAGE, re.M)]


def test_the_page_on_tables_makes_a_benchmark_table_again(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")
    schema, command, compare = BLOCKS[-3:]
    own = pd.read_csv(ROOT / "data" / "pums2016.csv", dtype={"state": str, "puma": str})
    own = own[own["state"] == "01"]
    rows = own.loc[own.index.repeat(own["persons"])].sample(frac=1, random_state=1)
    persons = {"ST": rows["state"], "PUMA": rows["puma"], "RAC1P": rows["race"], "PWGTP": 7}
    persons["HISP"] = rows["origin"].map("{:02d}".format)
    pd.DataFrame(persons).to_csv("psam_p01.csv", index=False)
    Path("bureau.json").write_text(schema)
    words = command.split()[1:]
    code, said, error = run(capsys, *words)
    assert (code, error, "records in 216 cells" in said) == (0, "", True)
    exec(compare, {})
    again = read_table(Path("area.csv"), load_schema(Path("area.schema.json")))
    assert again.ravel().tolist() == pd.read_csv("area.csv")["count"].tolist()
    assert "exists already" in refused(capsys, *words)
    words[words.index("PUMA=01301")], words[-1] = "PUMA=1", "none.csv"
    assert ": 0 records in 216 cells" in run(capsys, *words)[1]


def test_the_other_examples_of_the_page_are_true(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    schema = parse_schema(BLOCKS[0])
    assert (schema.shape, schema.layout) == ((3 * (4 * 3 - 2) * 9,), "records")
    wide = "district,owner,tenant,Total\nHill,4,8,12\nLake,3,0,3\nTotal,7,8,15\n"
    Path("wide.csv").write_text(wide)
    exec(BLOCKS[1], {})
    long = Schema(("district", "tenure"), (("Hill", "Lake"), ("owner", "tenant")))
    assert read_table(Path("long.csv"), long).tolist() == [[4, 8], [3, 0]]
