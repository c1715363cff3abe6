"""Files as spreadsheets and programs write them: read right, or refused with what to do."""

import bz2
import dataclasses
import gzip
import io
import itertools
import json
import lzma
import re
import unicodedata
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import run
from microdata_price.exceptions import InputError
from microdata_price.tables.csv_files import find_schema, read_table, schema_of_table
from microdata_price.tables.doubts import hidden_keys
from microdata_price.tables.forms import form_of
from microdata_price.tables.looks import (
    looks_like_a_total,
    looks_like_counts,
    looks_unlike_records,
)
from microdata_price.tables.schema import OURS, Schema, load_schema, parse_schema

SCHEMA = Schema(("area", "tenure"), (("Hill", "Lake", "Moor"), ("owner", "tenant")))
TABLE = np.array([[4.0, 8.0], [3.0, 0.0], [0.0, 6.0]])
LONG = [
    (a, t, str(int(TABLE[i, j])))
    for i, a in enumerate(SCHEMA.values[0])
    for j, t in enumerate(SCHEMA.values[1])
]
RECORDS = [(a, t) for a, t, n in LONG for _ in range(int(n))]


def text_of(header, rows, mark=",", end="\n"):
    return "".join(mark.join(row) + end for row in [header, *rows])


def long_text(mark=",", end="\n"):
    return text_of(("area", "tenure", "count"), LONG, mark, end)


def write(folder, content, name="table.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def zipped(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
)
def test_every_usual_way_of_writing_a_table_is_read(tmp_path, mark, end, encoding):
    for above in ("", f"sep={mark}{end}"):
        path = write(tmp_path, (above + long_text(mark, end)).encode(encoding))
        np.testing.assert_array_equal(read_table(path, SCHEMA), TABLE)
        np.testing.assert_array_equal(read_table(path, schema_of_table(path)), TABLE)


@pytest.mark.parametrize(
    "pack",
    [
        gzip.compress,
        bz2.compress,
        lzma.compress,
        lambda b: zipped([("t.csv", b), ("__MACOSX/._t.csv", "\0\5"), ("._t.csv", "x")]),
    ],
)
def test_packed_tables_are_read(tmp_path, pack):
    path = write(tmp_path, pack(long_text().encode()), "packed.csv")
    np.testing.assert_array_equal(read_table(path, SCHEMA), TABLE)
    if path.read_bytes().startswith(b"PK"):
        assert "not read in" in form_of(path, SCHEMA).notes()[-1]
        assert "__MACOSX/._t.csv" in form_of(path, SCHEMA).notes()[-1]


ANY = long_text().encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"sep=,\n", "is empty"),
        (gzip.compress(b""), "is empty"),
        (gzip.compress(ANY)[:40], "is damaged"),
        (bz2.compress(ANY)[:40], "is damaged"),
        (lzma.compress(ANY)[:60], "is damaged"),
        (bz2.compress(ANY)[:12] + bytes(60), "is damaged"),
        (b"PK\x03\x04" + bytes(50), "is damaged"),
        (zipped([("a.csv", ANY), ("b.csv", ANY)]), "same file twice, a.csv and b.csv"),
        (zipped([("a.csv", ANY), ("b.csv", b"x\n1\n")]), r"holds 2 tables \(a.csv, b.csv\)"),
        (zipped([("a.zip", ANY)]), "holds another archive, a.zip"),
        (zipped([("a.csv.gz", ANY)]), "holds another archive, a.csv.gz"),
        (zipped([("a.txt", "x")]), r"without a \.csv file"),
        (zipped([("__MACOSX/._a.csv", "x")]), r"without a \.csv file"),
        (zipped([("[Content_Types].xml", "x"), ("xl/a.xml", "x")]), "is a workbook"),
        (zipped([("content.xml", "x")]), "is a workbook"),
        (b"\xd0\xcf\x11\xe0" + bytes(9), "is an old Excel workbook"),
        (b"%PDF-1.7", "is a PDF"),
        (b"PAR1" + bytes(9), "is a Parquet file"),
        (b"7z\xbc\xaf'\x1c", "is a 7z archive"),
        (b"a,b\0,c\n1,2,3\n", "is not a text file"),
        (b'[{"area": "Hill", "count": 3}]', "looks like JSON; save the table as a CSV file"),
        (b'{"area": ["Hill"]}', "looks like JSON"),
        (b"<!DOCTYPE html><html></html>", "looks like a page of a browser"),
        (b"<table><tr><td>1</td></tr></table>", "looks like a page of a browser"),
        (b'area,tenure,count\n"Hill,owner,1\n', r"quotation mark is opened and not closed\); corr"),
        ("area,tenure,count\nK\xf6ln,owner,3\n".encode("latin-1"), "not a text file in UTF-8"),
    ],
    # Compressed bytes hold the time; named by them, the tests would differ between processes.
    ids=lambda value: value if isinstance(value, str) else "file",
)
def test_what_is_no_table_is_called_what_it_is(tmp_path, content, message):
    path = write(tmp_path, content, "given.csv")
    with pytest.raises(InputError, match=message):
        read_table(path, SCHEMA)
    with pytest.raises(InputError):
        schema_of_table(path)


def encrypted():
    data = bytearray(zipped([("a.csv", ANY)]))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def test_an_archive_with_a_password_is_refused(tmp_path):
    with pytest.raises(InputError, match="has a password; unpack it"):
        read_table(write(tmp_path, encrypted()), SCHEMA)


# Counts in a column of another name.

COUNT_NAMES = ["n", "N", "freq", "Freq", "frequency", "Count", "COUNT", "population", "value"]
COUNT_NAMES += ["Value", "percent", "pop_2020", "number of persons", "PWGTP", "n.", "weight"]


@pytest.mark.parametrize("name", COUNT_NAMES)
def test_counts_under_another_name_are_never_taken_for_records(tmp_path, capsys, name):
    path = write(tmp_path, text_of(("area", "tenure", name), LONG))
    schema = write(tmp_path, SCHEMA.to_json(), "s.json")
    with pytest.raises(InputError, match="looks like counts"):
        read_table(path, SCHEMA)
    with pytest.raises(InputError, match=re.escape(f"{name!r} looks like counts")):
        schema_of_table(path)
    common = [path, "--schema", schema, "--epsilon", "1"]
    priced = ["price", *common, "--runs", "5", "--methods", "ols", "--json"]
    released = ["release", *common, "--method", "ols", "--json", "--out", tmp_path / "out"]
    for words in (priced, released):
        code, out, err = run(capsys, *words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert not (tmp_path / "out").exists()
        # What the sentence says to do, does.
        option = re.search(r"--count-column '[^']+'", err)[0].split(" ", 1)
        code, out, err = run(capsys, *words, option[0], option[1].strip("'"))
        assert (code, err.count("\n")) == (0, looks_unlike_records(name))
    np.testing.assert_array_equal(read_table(path, find_schema(path, schema, count=name)), TABLE)
    np.testing.assert_array_equal(read_table(path, find_schema(path, count=name)), TABLE)
    code, _, err = run(capsys, *priced, "--records")
    assert (code, err.count("\n")) == (0, 1)
    assert "records, one row a record" in err
    assert f"not read: {name!r}" in err
    assert read_table(path, find_schema(path, schema, count="")).tolist() == [[1, 1]] * 3


def test_records_that_never_repeat_beside_numbers_are_doubtful(tmp_path):
    for numbers in (["41", "87", "130", "12", "0", "205"], ["1.5", "2%", "1,000", "-3", "4", ""]):
        rows = [(*cell[:2], f'"{x}"') for cell, x in zip(LONG, numbers, strict=True)]
        path = write(tmp_path, text_of(("area", "tenure", "seen"), rows))
        with pytest.raises(InputError, match=r"'seen'.* it holds numbers, and no two rows agree"):
            read_table(path, SCHEMA)
    # Numbers of the rows, texts, and numbers beside records that do repeat, are no counts.
    for column in ([str(k) for k in range(6)], [str(k + 1) for k in range(6)], list("abcdef")):
        rows = [(*cell[:2], x) for cell, x in zip(LONG, column, strict=True)]
        path = write(tmp_path, text_of(("area", "tenure", "mark"), rows))
        assert read_table(path, SCHEMA).sum() == 6
    rows = [(*cell, str(k % 90)) for k, cell in enumerate(RECORDS)]
    path = write(tmp_path, text_of(("area", "tenure", "age"), rows))
    np.testing.assert_array_equal(read_table(path, SCHEMA), TABLE)
    assert form_of(path, SCHEMA).notes() == [
        f"{path} is read as records, one row a record; columns not read: 'age'"
    ]


SEXES, YEARS = ("f", "m"), ("2019", "2020", "2021")


@pytest.mark.parametrize("keys", [(SEXES,), (YEARS,), (SEXES, YEARS)])
@pytest.mark.parametrize("beside", [(), ("note",), ("id", "note")])
def test_a_second_key_that_is_not_read_hides_no_counts(tmp_path, keys, beside):
    rng = np.random.default_rng(5)
    more = {"note": "of 2020", "id": "r{:04}"}
    rows = [
        (*row[:2], *key, str(rng.integers(1, 4000)))
        for row in LONG
        for key in itertools.product(*keys)
    ]
    rows = [(*(more[name].format(k) for name in beside), *row) for k, row in enumerate(rows)]
    names = [f"key{k}" for k in range(len(keys))]
    path = write(tmp_path, text_of((*beside, "area", "tenure", *names, "x"), rows))
    with pytest.raises(InputError, match="'x', which the schema does not list, looks") as stop:
        read_table(path, SCHEMA)
    assert f"no two rows agree in 'area', 'tenure'{', ' if keys[1:] else ' and '}" in str(
        stop.value
    )
    assert f"list {' and '.join(map(repr, names))} in the schema" in str(stop.value)
    assert ("leave out" in str(stop.value)) == bool(beside)
    # What the sentence says to do, does.
    columns = dict(zip((*SCHEMA.columns, *names), (*SCHEMA.values, *keys), strict=True))
    schema = parse_schema(json.dumps({"columns": columns, "count": "x"}))
    path = write(tmp_path, text_of((*schema.columns, "x"), [row[len(beside) :] for row in rows]))
    assert read_table(path, schema).sum() == sum(int(row[-1]) for row in rows)
    assert read_table(path, dataclasses.replace(SCHEMA, count="")).sum() == len(rows)


@given(seed=st.integers(0, 2**32), size=st.integers(8, 400), columns=st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_persons_with_many_columns_are_never_doubted(seed, size, columns):
    rng = np.random.default_rng(seed)
    cells = np.sort(rng.integers(0, 6, size))
    serial = np.sort(rng.integers(0, max(2, size // 2), size))  # households
    order = [str(np.count_nonzero(serial[:k] == h)) for k, h in enumerate(serial)]
    found = {0: tuple(f"h{h}" for h in serial), 1: tuple(order)}
    for k in range(2, 2 + columns):
        values = rng.integers(0, 2 ** rng.integers(1, 12), size)
        found[k] = tuple(map(str, values)) if k % 3 else tuple(f"v{v}" for v in values)
    times = np.bincount(cells)
    if times.max() > 1:
        assert hidden_keys(cells, found) == {}


def test_a_schema_may_say_how_its_table_is_read(tmp_path):
    columns = json.loads(SCHEMA.to_json())
    path = write(tmp_path, text_of(("area", "tenure", "n"), LONG))
    counts = parse_schema(json.dumps({**columns, "count": "n"}))
    np.testing.assert_array_equal(read_table(path, counts), TABLE)
    assert read_table(path, parse_schema(json.dumps({**columns, "count": False}))).sum() == 6
    assert '"count"' not in counts.to_json()
    with pytest.raises(InputError, match=r"no column of counts 'm'.* Known are: area, tenure, n"):
        read_table(path, parse_schema(json.dumps({**columns, "count": "m"})))
    for wrong in (True, 3, "", ["n"]):
        with pytest.raises(InputError, match="name of a column or false"):
            parse_schema(json.dumps({**columns, "count": wrong}))


def test_two_ways_of_reading_exclude_each_other(tmp_path, capsys):
    path = write(tmp_path, long_text())
    words = ["price", path, "--epsilon", "1", "--count-column"]
    assert run(capsys, *words, "n", "--records")[0] == 2
    assert run(capsys, *words, " ")[0] == 2
    code, _, err = run(capsys, "price", path, "--epsilon", "1", "--records")
    assert code == 2
    assert "add --schema" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("area,count\n", "has only a header"),
        ("area,x,y\n", "has only a header"),
        (
            "area,tenure,n,percent\na,b,3,12.5\n",
            "'n' looks like counts; if it holds the counts, call",
        ),
        ("area,tenure,zahl\na,b,3\n", "'zahl' holds numbers; if it holds the counts, call it"),
        ("area,tenure\na,b\n", "for records give their schema with --schema"),
        ("Table 1: persons\narea,tenure,count\na,b,3\n", "row 2: 3 fields where the header has 1"),
        ("area,tenure,count\na,b,3\nSource: us\n", "row 3: 1 fields where the header has 3"),
        ("area,tenure,count\na,b,3\n,,3\n", "column 'area' has an empty field.*rows of totals"),
    ],
)
def test_without_a_schema_the_sentence_says_what_the_file_looks_like(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        schema_of_table(write(tmp_path, text))


# Columns that number the rows.


@pytest.mark.parametrize("name", ["", "Unnamed: 0", " "])
@pytest.mark.parametrize("first", [0, 1])
def test_an_unnamed_column_that_numbers_the_rows_is_left_out_with_a_word(tmp_path, name, first):
    rows = [(str(k), *row) for k, row in enumerate(LONG, first)]
    path = write(tmp_path, text_of((name, "area", "tenure", "count"), rows))
    for schema in (SCHEMA, schema_of_table(path)):
        np.testing.assert_array_equal(read_table(path, schema), TABLE)
        assert "without a name, which numbers the rows" in form_of(path, schema).notes()[0]
    wide = [
        (str(k), a, *(str(int(n)) for n in TABLE[k - first]))
        for k, a in enumerate(SCHEMA.values[0], first)
    ]
    path = write(tmp_path, text_of((name, "area", "owner", "tenant"), wide))
    for schema in (SCHEMA, schema_of_table(path)):
        np.testing.assert_array_equal(read_table(path, schema), TABLE)
    records = [(str(k), *row) for k, row in enumerate(RECORDS, first)]
    path = write(tmp_path, text_of((name, "area", "tenure"), records))
    np.testing.assert_array_equal(read_table(path, SCHEMA), TABLE)


def test_an_unnamed_column_that_does_not_number_the_rows_is_named(tmp_path):
    for column in (list("abcdef"), list("012354"), list("234567")):
        rows = [(k, *row) for k, row in zip(column, LONG, strict=True)]
        path = write(tmp_path, text_of(("", "area", "tenure", "count"), rows))
        with pytest.raises(InputError, match=r"column 1 has no name .* give it one, or leave it"):
            read_table(path, SCHEMA)
    # Empty ones, as a mark at the end of each row makes them.
    path = write(tmp_path, long_text(end=",\n"))
    np.testing.assert_array_equal(read_table(path, SCHEMA), TABLE)
    path = write(tmp_path, long_text(end=",,\n"))
    np.testing.assert_array_equal(read_table(path, SCHEMA), TABLE)
    assert "2 columns without a name" in form_of(path, SCHEMA).notes()[0]
    path = write(tmp_path, long_text(end=",,\n") + "Hill,owner,3,,see below\n")
    with pytest.raises(InputError, match="column 5 has no name"):
        read_table(path, SCHEMA)


def test_a_wide_table_whose_headings_have_no_name(tmp_path):
    wide = [
        (a, *(str(int(n)) for n in row)) for a, row in zip(SCHEMA.values[0], TABLE, strict=True)
    ]
    path = write(tmp_path, text_of(("", "owner", "tenant"), wide))
    found = schema_of_table(path)
    assert found.columns == ("row", "column")
    np.testing.assert_array_equal(read_table(path, found), TABLE)
    doubtful = [(str(k), "7", *row[1:]) for k, row in enumerate(wide)]
    path = write(tmp_path, text_of(("", "code", "owner", "tenant"), doubtful))
    with pytest.raises(InputError, match="may number the rows or be their heading"):
        schema_of_table(path)


def test_a_named_column_that_tells_the_rows_apart_is_no_column_of_the_table(tmp_path):
    rows = [(f"r{k}", *row) for k, row in enumerate(LONG)]
    path = write(tmp_path, text_of(("id", "area", "tenure", "count"), rows))
    with pytest.raises(InputError, match=r"'id' has another value in every row.*leave it out"):
        schema_of_table(path)
    path = write(tmp_path, "age,count\n0,3\n1,4\n")
    assert schema_of_table(path).values == (("0", "1"),)


# Totals.

TOTALS = ["Total", "TOTAL", "All", "all", "Sum", "Grand Total", "(all)", "Both sexes", "Gesamt"]


def with_totals(name, rows, columns):
    table = [[*map(int, line)] for line in TABLE]
    names = list(SCHEMA.values[0])
    heads = list(SCHEMA.values[1])
    if rows:
        table.append([sum(c) for c in zip(*table, strict=True)])
        names.append(name)
    if columns:
        table = [[*line, sum(line)] for line in table]
        heads.append(name)
    return names, heads, table


@pytest.mark.parametrize("name", TOTALS)
@pytest.mark.parametrize(("rows", "columns"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("wide", [True, False])
def test_totals_are_never_added_to_what_they_sum(tmp_path, name, rows, columns, wide):
    names, heads, table = with_totals(name, rows, columns)
    if wide:
        body = [(n, *map(str, line)) for n, line in zip(names, table, strict=True)]
        path = write(tmp_path, text_of(("area", *heads), body))
    else:
        body = [(n, h, str(table[i][j])) for i, n in enumerate(names) for j, h in enumerate(heads)]
        path = write(tmp_path, text_of(("area", "tenure", "count"), body))
    listed = Schema(("area", "tenure"), (tuple(names), tuple(heads)))
    for read in (
        lambda: schema_of_table(path),
        lambda: read_table(path, SCHEMA),  # a schema without them
        lambda: read_table(path, listed),  # and one that lists them
    ):
        with pytest.raises(InputError, match=r"totals.*leave out rows and columns of totals"):
            read()


def test_totals_under_any_name_are_found_by_their_sums(tmp_path):
    names, heads, table = with_totals("Zusammen", False, True)
    table = [[7 * a + 1, b + 2, 7 * a + b + 3] for a, b, _ in table]
    body = [(n, *map(str, line)) for n, line in zip(names, table, strict=True)]
    path = write(tmp_path, text_of(("area", *heads), body))
    with pytest.raises(InputError, match="'Zusammen' in 'column' look like totals"):
        read_table(path, schema_of_table(path))


def test_sums_by_chance_are_no_totals(tmp_path):
    for text in (
        "place,count\na,1\nb,2\nc,3\n",
        "area,x,y,z\na,1,2,3\nb,0,4,4\n",
        "area,x,y,z\na,1,0,1\nb,4,0,4\nc,7,0,7\nd,9,0,9\n",
        "area,x,y,z\na,0,0,0\nb,0,0,0\nc,0,0,0\n",
        "area,total,rest\na,1,2\nb,3,4\n".replace("total", "Totnes"),
    ):
        path = write(tmp_path, text)
        assert read_table(path, schema_of_table(path)).sum() > -1


def test_names_that_look_and_names_that_do_not():
    for name in ("age", "income", "region", "SERIALNO", "nationality", "county"):
        assert not looks_like_counts(name)
    for value in ("Allerton", "Summer", "Totnes", "north", "0", ""):
        assert not looks_like_a_total(value)


# Text that looks the same.

PLACES = ("Köln", "Orléans", "Saint Denis")


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC"])
@pytest.mark.parametrize("space", [" ", "\u00a0", "\u202f", "\u2009"])
@pytest.mark.parametrize("turned", [False, True])
def test_text_that_looks_the_same_is_the_same(tmp_path, form, space, turned):
    plain = [unicodedata.normalize("NFC", p) for p in PLACES]
    other = [unicodedata.normalize(form, p).replace(" ", space) for p in PLACES]
    inside, outside = (other, plain) if turned else (plain, other)
    column = unicodedata.normalize(form, "pläce")
    given = json.dumps({"columns": {column: inside}})
    schema = load_schema(write(tmp_path, given, "s.json"))
    assert schema.values == (tuple(plain),)
    rows = [(f"{space}{p}{space} ",) for p in outside for _ in range(3)]
    path = write(tmp_path, text_of(("pläce",), rows))
    assert read_table(path, schema).tolist() == [3, 3, 3]


def test_values_that_look_the_same_are_listed_once():
    for twice in (["Köln", unicodedata.normalize("NFD", "Köln")], ["a b", "a\u00a0b"]):
        with pytest.raises(InputError, match="lists a value twice"):
            Schema(("place",), (tuple(twice),))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("hill", "but for capital letters"),
        ("", "as it is empty; correct the row, or count"),
        ("Hull", "allows; correct the row, or count what is not listed"),
    ],
)
def test_why_a_value_is_none_is_said(tmp_path, value, message):
    path = write(tmp_path, text_of(("area", "tenure"), [(value, "owner")]))
    with pytest.raises(InputError, match=message):
        read_table(path, SCHEMA)


@pytest.mark.parametrize("value", ["1.0", "01", "001", "1,0", "+1", "1e0", "0.1e1", "1.00"])
def test_codes_written_as_numbers_are_told_apart_from_values_that_are_not_there(tmp_path, value):
    path = write(tmp_path, f'code\n1\n"{value}"\n')
    with pytest.raises(InputError, match=r"row 3, column 'code'.*it is one as a number"):
        read_table(path, Schema(("code",), (("1", "2"),)))


def test_bad_rows_are_counted_and_the_first_are_named(tmp_path):
    rows = [("Hill", "owner"), *[("Hull", "owner")] * 30]
    path = write(tmp_path, text_of(("area", "tenure"), rows))
    with pytest.raises(InputError, match=r"row 3, .*so are 29 more: rows 4, 5, 6, .*12\)$"):
        read_table(path, SCHEMA)


@pytest.mark.parametrize(
    ("count", "why"),
    [
        *[(text, "marks between thousands: write 1234") for text in ("1,234", "1.234", "1 234")],
        *[(text, "marks between thousands") for text in ("1\u00a0234", "1'234", "12,345,678")],
        *[(text, "has decimals: write 3, not") for text in ("3,0", "3.00", "3.", "3,")],
        ("1e3", "power of ten"),
        ("1.6e1", "power of ten"),
        ("12%", "per cent"),
        ("-1", "has a sign"),
        ("+1", "has a sign"),
        ("3.7", "no whole number"),
        ("0,25", "no whole number"),
        ("", "is empty: write 0"),
        ("0x10", "; every cell"),
        ("n/a", "; every cell"),
    ],
)
def test_counts_are_in_digits(tmp_path, count, why):
    rows = [(*LONG[0][:2], f'"{count}"'), *LONG[1:]]
    path = write(tmp_path, text_of(("area", "tenure", "count"), rows))
    with pytest.raises(InputError, match=f"row 2, column 'count': not a whole number.*{why}"):
        read_table(path, SCHEMA)
    rows = [(*row[:2], f'"{row[2]}.0"') for row in LONG]  # as programs write what may be missing
    path = write(tmp_path, text_of(("area", "tenure", "count"), rows))
    np.testing.assert_array_equal(read_table(path, SCHEMA), TABLE)


def test_a_heading_that_is_a_column_and_a_value_is_refused(tmp_path):
    schema = Schema(("area", "sex"), (("a", "b"), ("sex", "age")))
    path = write(tmp_path, "area,sex,age\na,1,2\nb,3,4\n")
    with pytest.raises(InputError, match="records or a wide table"):
        read_table(path, schema)


# Names of the user's and our own.


@pytest.mark.parametrize("name", OURS)
def test_columns_that_a_release_writes_itself_are_refused_before_anything_is_read(
    tmp_path, capsys, name
):
    schema = write(tmp_path, json.dumps({"columns": {name: ["a"], "sex": ["f", "m"]}}), "s.json")
    path = write(tmp_path, b"\0never read")
    words = ["release", path, "--schema", schema, "--epsilon", "1", "--method", "nnls"]
    code, _, err = run(capsys, *words, "--out", tmp_path / "out")
    assert (code, err.count("\n")) == (2, 1)
    assert f"a column called {name!r}" in err
    assert "another name" in err
    assert not (tmp_path / "out").exists()


def test_no_file_of_a_release_names_a_column_twice(tmp_path, capsys):
    path = write(tmp_path, long_text())
    schema = write(tmp_path, SCHEMA.to_json(), "s.json")
    words = ["release", path, "--schema", schema, "--epsilon", "1", "--method", "nnls"]
    assert run(capsys, *words, "--out", tmp_path / "out")[0] == 0
    seen = 0
    for file in (tmp_path / "out").glob("*.csv"):
        header = file.read_text().splitlines()[0].split(",")
        if set(SCHEMA.columns) <= set(header):
            seen += 1
            assert set(header) - set(SCHEMA.columns) <= set(OURS), file
    assert seen >= 4
    code, _, _ = run(
        capsys, "release", "--again", tmp_path / "out", "--method", "ols", "--out", tmp_path / "b"
    )
    assert code == 0
