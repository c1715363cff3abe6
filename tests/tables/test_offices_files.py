"""Files as statistical offices and their spreadsheets write them."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from microdata_price.exceptions import InputError
from microdata_price.tables.csv_files import read_table, schema_of_table
from microdata_price.tables.forms import form_of
from microdata_price.tables.looks import looks_like_counts, looks_like_no_count, may_be_a_total
from microdata_price.tables.schema import parse_schema

SCHEMA = parse_schema(json.dumps({"columns": {"geo": ["DE", "FR"], "sex": ["F", "M"]}}))
BODY = "DE,F,5\nDE,M,60\nFR,F,7\nFR,M,8\n"
TABLE = np.array([[5.0, 60.0], [7.0, 8.0]])


def write(folder, text, name="table.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def told(path, schema=None):
    """Read a table and return the sentences that are told."""
    said: list[str] = []
    read_table(path, schema or schema_of_table(path), said.append)
    return said


# Totals in codes and in other languages.


@pytest.mark.parametrize("name", ["_T", "Totale", "Razem", "Ogółem", "Yhteensä", "合計", "I alt"])
def test_totals_in_other_words_are_refused_even_where_they_were_rounded(tmp_path, name):
    for text in (f"geo,f,m,{name}\nA,31,40,72\nB,50,61,110\n", f"geo,f\nA,3\nB,4\n{name},8\n"):
        path = write(tmp_path, text.replace("geo,f\n", "geo,count\n"))
        with pytest.raises(InputError, match=r"look.* like totals"):
            schema_of_table(path)


@pytest.mark.parametrize("name", ["T", "TOT", "Persons"])
def test_codes_that_totals_share_with_others_are_judged_by_their_counts(tmp_path, name):
    assert may_be_a_total(name)
    rows = [f"{g},{s},{n}\n" for g, s, n in zip("AABB", "FMFM", (31, 40, 50, 61), strict=True)]
    for totals, answer in (((71, 111), "refused"), ((70, 115), "told"), ((30, 2), "fine")):
        body = "".join([*rows, *(f"{g},{name},{n}\n" for g, n in zip("AB", totals, strict=True))])
        path = write(tmp_path, f"geo,sex,count\n{body}")
        if answer == "refused":
            with pytest.raises(InputError, match="look like totals"):
                told(path)
        else:
            assert ["by its name like a total" in s for s in told(path)] == [True] * (
                answer == "told"
            )


# Columns that are no counts.


@pytest.mark.parametrize(
    "name",
    [
        *("% F", "Percent female", "pct", "Prozent", "rate", "median age", "year", "lat", "code"),
        *("Margin of Error", "F!!Margin of Error", "MOE", "cumulative", "cum", "SE"),
    ],
)
def test_a_wide_table_counts_no_shares_years_or_places(tmp_path, name):
    path = write(tmp_path, f"geo,F,M,{name}\nDE,55,45,55\nFR,30,70,30\n")
    with pytest.raises(InputError, match=f"'{name}' looks by its name like .*leave it out"):
        schema_of_table(path)
    with pytest.raises(InputError, match=f"'{name}' is none of them"):
        read_table(path, SCHEMA)
    path = write(tmp_path, f"{name},geo,F,M\n55,DE,55,45\n30,FR,30,70\n")
    with pytest.raises(InputError, match=rf"more columns than the schema has \('{name}'\)"):
        read_table(path, SCHEMA)


def test_names_of_categories_are_no_names_of_shares():
    for name in ("top 10%", "10-20 %", "below 50 percent", "owners", "Barcode users", "rate payer"):
        assert looks_like_no_count(name) == ""


@pytest.mark.parametrize("heads", ["SE,NO,DK", "AT,ID,CV", "id,en,de", "change,no change"])
def test_codes_of_countries_and_languages_are_no_names_of_measures(tmp_path, heads):
    path = write(tmp_path, f"sex,{heads}\nf,{','.join('345'[: heads.count(',') + 1])}\n")
    assert schema_of_table(path).values[1] == tuple(heads.split(","))


def test_counts_among_other_numbers_are_told_apart(tmp_path):
    path = write(tmp_path, "geo,Males,Females,Persons\nA,3,4,8\nB,5,6,11\n")
    with pytest.raises(InputError, match="'Persons' among its columns of numbers"):
        schema_of_table(path)
    path = write(tmp_path, "code,name,F,M\nE1,A,3,1\nE2,B,4,5\n")
    with pytest.raises(InputError, match="several columns of headings, 'code' and 'name'"):
        schema_of_table(path)
    path = write(tmp_path, "name,F,M\nA,3,1\nB,4,5\n")  # what the sentence says to do
    assert read_table(path, schema_of_table(path)).sum() == 13


@pytest.mark.parametrize("name", ["OBS_VALUE", "Anzahl Personen", "Einwohner", "Gewicht", "poids"])
def test_counts_and_weights_of_other_offices_are_never_taken_for_records(tmp_path, name):
    assert looks_like_counts(name)
    rows = "".join(f"{g},{s},{k * 7}\n" for k, (g, s) in enumerate([*SCHEMA.cell_values()] * 3))
    with pytest.raises(InputError, match=f"'{name}'.* looks like counts"):
        read_table(write(tmp_path, f"geo,sex,{name}\n{rows}"), SCHEMA)


def test_the_forms_of_sdmx_and_of_eurostat(tmp_path):
    head = "DATAFLOW,freq,sex,geo,TIME_PERIOD,OBS_VALUE,OBS_FLAG\n"
    path = write(tmp_path, head + "X,A,F,DE,2020,5,\nX,A,M,DE,2020,6,\n")
    with pytest.raises(InputError, match="'OBS_VALUE' looks like counts"):  # and not 'freq'
        schema_of_table(path)
    text = "freq,sex,geo\\TIME_PERIOD\t2020 \t2021 \nA,F,DE\t5 \t: \nA,M,DE\t6 \t7 p\n"
    with pytest.raises(InputError, match=r"looks like Eurostat's TSV form.*SDMX-CSV"):
        schema_of_table(write(tmp_path, text, "t.tsv"))


# Headers and columns that spreadsheets add.


def test_empty_columns_at_the_end_of_rows_are_left_out_with_a_word(tmp_path):
    body = BODY.replace("\n", ",,\n")
    path = write(tmp_path, f"geo,sex,count,,\n{body}")
    np.testing.assert_array_equal(read_table(path, SCHEMA), TABLE)
    np.testing.assert_array_equal(read_table(path, schema_of_table(path)), TABLE)
    assert "or are empty" in form_of(path, SCHEMA).notes()[0]
    for first in ("", "geo"):
        path = write(tmp_path, f"{first},F,M,,\nDE,5,60,,\nFR,7,8,,\n")
        np.testing.assert_array_equal(read_table(path, SCHEMA), TABLE)
        np.testing.assert_array_equal(read_table(path, schema_of_table(path)), TABLE)


@pytest.mark.parametrize(
    "text",
    [
        "Table 1,,,\n,,,\ngeo,F,M,X\nDE,55,5,3\n",
        "geo,2020,,2021,\n,F,M,F,M\nDE,1,2,3,4\nFR,2,3,4,5\n",
    ],
)
def test_titles_and_headings_over_several_columns_are_named(tmp_path, text):
    for read in (schema_of_table, lambda path: read_table(path, SCHEMA)):
        with pytest.raises(InputError, match=r"names only \d of \d columns in its first row"):
            read(write(tmp_path, text))


# Rows that spreadsheets and offices add.


def test_empty_rows_at_the_end_are_no_rows(tmp_path):
    for blank in (",,\n" * 3, " , , \n,,\n\n", ",,\n" * 2000):
        path = write(tmp_path, f"geo,sex,count\n{BODY}{blank}")
        np.testing.assert_array_equal(read_table(path, SCHEMA), TABLE)
        np.testing.assert_array_equal(read_table(path, schema_of_table(path)), TABLE)
        path = write(tmp_path, f"geo,sex,age\n{BODY * 3}{blank}")
        assert read_table(path, SCHEMA).tolist() == [[3, 3], [3, 3]]
    for middle in (",,\n", ",,\n" * 2000):
        path = write(tmp_path, f"geo,sex,count\n{middle}{BODY}")
        with pytest.raises(InputError, match=r"row 2, column 'geo'.*as it is empty"):
            read_table(path, SCHEMA)


def test_persons_of_whom_nothing_is_stated_are_never_dropped(tmp_path):
    columns = {c: {"values": list(v), "empty": "-"} for c, v in zip(*_named(SCHEMA), strict=True)}
    open_ = {"columns": columns}
    records = "geo,sex\nDE,F\n,\nFR,M\n"
    path = write(tmp_path, records)
    assert read_table(path, parse_schema(json.dumps(open_))).sum() == 3
    path = write(tmp_path, records + ",\n,\n")
    with pytest.raises(InputError, match="row 5: it is empty, as are all below it"):
        read_table(path, parse_schema(json.dumps(open_)))
    # What the sentence says to do, does.
    assert read_table(path, parse_schema(json.dumps({**open_, "count": False}))).sum() == 5
    path = write(tmp_path, 'sex\nF\n""\n""\n')
    alone = {"columns": {"sex": columns["sex"]}}
    assert read_table(path, parse_schema(json.dumps(alone))).sum() == 3


def _named(schema):
    return schema.columns, schema.values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Persons by area\ngeo,sex,count\n" + BODY, "leave out titles and comments above it"),
        ("# ours\ngeo,sex,count\n" + BODY, "leave out titles and comments above it"),
        ("geo,sex,count\n" + BODY + "Source: us\n", "leave out notes and comments"),
        ("geo,sex,count\n" + BODY + "Source: us,,\n", "units and notes"),
        ("geo,F,M\nDE,1,2\nFR,3,4\nSource: us,,\n", "row 4: it has no counts"),
        ("sex,F,M\ngeo,,\nDE,1,2\nFR,3,4\n", "row 2: it has no counts"),
        ("geo,sex,count\n1,DE,F,1\n2,DE,M,3\n", "names of rows without a heading"),
        ("geo,F,M\n,persons,persons\nDE,1,2\nFR,3,4\n", "rows of totals, units and notes"),
        ("geo,sex,count,flag\n" + BODY.replace("\n", ",\n"), "'flag' is empty; leave it out"),
        ("geo,sex,count\nDE,F,1\n,M,2\nFR,F,1\n,M,2\n", "the value of merged cells in every row"),
        ("ST,PUMA,PWGTP,SEX\n01,01301,7,1\n01,01301,9,2\n", "person file .* tabulate"),
        ("SERIALNO,ST,PUMA,SEX\n7,01,01301,1\n8,01,01301,2\n", "person file .* tabulate"),
        ("geo;count\nDE,1\nFR,2\n", "the header's mark between fields"),
        ("geo,sex,count\nDE,F,1\ngeo,sex,count\n", "row 3, .* names the columns again"),
        ("geo  count\nDE   3\nFR   4\n", "if spaces separate its columns"),
        ("geo,count,percent\nDE,3,60\nFR,2,40\n", "'percent' beside the counts .* leave it out"),
        ("geo,count,area\nDE,3,60.5\nFR,2,41.2\n", "'area' has another value in every row"),
        ("geo,sex,count\nDE,F,3\nFR,M,4\n", "the first missing is geo=DE, sex=M"),
    ],
)
def test_titles_notes_units_and_measures_are_called_what_they_are(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        schema_of_table(write(tmp_path, text))


@pytest.mark.parametrize(
    ("count", "why"),
    [
        *[(mark, "a cell that is hidden") for mark in "x:*.-cS\u2013"],
        *[(mark, "a cell that is hidden") for mark in ("..", "<5", "n/a", "NA", "(D)", "NaN")],
        *[
            (mark, "a mark after the number")
            for mark in ("12 p", "12b", "12 (e)", "1,204 r", "7*", "300\u00b9")
        ],
        *[(mark, "has a sign") for mark in ("\u22123", "(3)", "- 3")],
        *[(mark, "an error of a spreadsheet") for mark in ("=SUM(B2:B3)", "#REF!", "#N/A", "####")],
    ],
)
def test_marks_in_place_of_counts_are_explained(tmp_path, count, why):
    for text in (f'geo,count\nDE,"{count}"\nFR,2\n', f'geo,f,m\nDE,"{count}",3\nFR,2,4\n'):
        with pytest.raises(InputError, match=f"row 2, .*not a whole number.*{why}"):
            schema_of_table(write(tmp_path, text))


def test_what_is_no_record_because_it_is_a_cell_is_said_first(tmp_path):
    path = write(tmp_path, "geo,sex,OBS_VALUE\n" + BODY + "EU,T,80\n")
    with pytest.raises(InputError, match=r"'OBS_VALUE'.* looks like counts"):
        read_table(path, SCHEMA)
    path = write(tmp_path, "geo,sex\nDE,F\ngeo,sex\nDE,M\n")
    with pytest.raises(InputError, match="row 3, column 'geo': the row names the columns again"):
        read_table(path, SCHEMA)


# Values written in two ways, or damaged.


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Male", "male"),
        ("Old man", "Old  man"),
        ("0-4", "0\u20134"),
        ("0-4", "0 - 4"),
        ("L'Aquila", "L\u2019Aquila"),
        ("fin", "\ufb01n"),
        ("1", "01"),
        ("2", "2.0"),
    ],
)
def test_one_value_written_in_two_ways_is_never_two(tmp_path, one, other):
    for text in (f"x,count\n{one},3\n{other},4\nz,9\n", f"geo,{one},{other},z\nA,3,4,5\n"):
        path = write(tmp_path, text)
        with pytest.raises(InputError, match="look like one that is written in two ways"):
            schema_of_table(path)
    listed = parse_schema(json.dumps({"columns": {"x": [one, other, "z"]}}))
    path = write(tmp_path, f"x,count\n{one},3\n{other},4\nz,9\n")
    assert read_table(path, listed).tolist() == [3, 4, 9]  # what the sentence says to do
    with pytest.raises(InputError, match=r"is not one that the schema allows(,| but)"):
        read_table(path, parse_schema(json.dumps({"columns": {"x": [one, "z"]}})))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("5-Sep", "took for a date"),
        ("05-Sep", "took for a date"),
        ("Oct-14", "took for a date"),
        ("#REF!", "error of a spreadsheet"),
        ('"=""01"""', "a formula"),
        ("K\ufffdln", "letters that were lost"),
    ],
)
def test_values_that_a_program_damaged_are_refused(tmp_path, value, message):
    path = write(tmp_path, f"age,count\n0-4,3\n{value},4\n15-19,5\n")
    with pytest.raises(InputError, match=message):
        schema_of_table(path)


@pytest.mark.parametrize(
    "values",
    [("Jan-20", "Feb-20"), ("NA", "DE"), ("True", "False"), ("1", "10", "100"), ("-1", "1")],
)
def test_values_that_only_look_odd_are_taken_as_they_are(tmp_path, values):
    path = write(tmp_path, "x,count\n" + "".join(f"{v},{k + 3}\n" for k, v in enumerate(values)))
    assert schema_of_table(path).values == (values,)
    assert told(path) == []


# Counts that may not be of records, and persons with several.


def test_rounded_counts_are_told(tmp_path):
    rng = np.random.default_rng(4)
    for base in (1, 3, 5, 10, 100):
        numbers = base * rng.integers(0, 60, (9, 2))
        rows = "".join(f"g{k},{a},{b}\n" for k, (a, b) in enumerate(numbers))
        said = told(write(tmp_path, f"geo,f,m\n{rows}"))
        assert ["as rounded ones are" in s for s in said] == [True] * (base > 1)
    rows = "".join(f"g{k},10,20\n" for k in range(9))  # an invented table
    assert told(write(tmp_path, f"geo,f,m\n{rows}")) == []
    assert told(write(tmp_path, "geo,f,m\nA,5,10\nB,15,20\n")) == []


def test_shares_in_per_cent_are_told_where_they_sum_to_100(tmp_path):
    path = write(tmp_path, "geo,f,m\nA,41,59\nB,45,55\nC,33,67\n")
    assert ["sum to 100" in s for s in told(path)] == [True]
    path = write(tmp_path, "geo,f,m\nA,41,59\nB,45,55\nC,33,68\n")
    assert told(path) == []


YEARS = [("2019", "2020"), ("Y2019", "Y2020"), ("pop_2019", "pop_2020"), ("2019/20", "2020/21")]
YEARS += [("2019-Q1", "2019-Q2"), ("2019-01", "2019-02"), ("of 2019", "of 2020")]


def test_years_in_which_one_person_may_be_counted_again_are_told(tmp_path):
    wide = [f"geo,{a},{b}\nA,31,33\nB,47,49\n" for a, b in YEARS]
    for text in (*wide, "year,count\n2019,31\n2020,33\n"):
        assert ["are years or parts of them" in s for s in told(write(tmp_path, text))] == [True]
    for text in ("born,count\n1990,31\n1991,33\n", "year,count\n1,31\n2,33\n"):
        assert told(write(tmp_path, text)) == []


@pytest.mark.parametrize("name", ["id", "person_id", "Patient ID", "PID", "case no."])
def test_persons_with_several_records_are_told(tmp_path, name):
    for ids, answer in (([7, 8, 9, 8], True), ([7, 8, 9, 10], False)):
        rows = [
            f"{i},{g},{s}\n" for i, (g, s) in zip(ids, [("DE", "F"), ("FR", "M")] * 2, strict=True)
        ]
        path = write(tmp_path, f"{name},geo,sex\n{''.join(rows)}")
        assert [f"'{name}', which is not read" in s for s in told(path, SCHEMA)] == [True] * answer
    path = write(tmp_path, "household,geo,sex\n1,DE,F\n1,DE,F\n2,DE,F\n")
    assert told(path, SCHEMA) == []
    path = write(tmp_path, f"{name},geo,sex\n,DE,F\n,DE,F\n3,DE,F\n")  # not known
    assert told(path, SCHEMA) == []


@pytest.mark.parametrize("name", ["count (thousands)", "persons in million", "PWGTP", "Estimate"])
def test_counts_that_are_weighted_or_in_thousands_are_told(tmp_path, name):
    path = write(tmp_path, f"geo,sex,{name}\n{BODY}")
    said = told(path, schema_of_table(path, name))
    assert ["looks like weights, shares or thousands" in s for s in said] == [True]
    path = write(tmp_path, f"geo,sex,persons\n{BODY}")
    assert told(path, schema_of_table(path, "persons")) == []


def test_codes_within_codes_are_counted_once(tmp_path):
    counts = {"AT": (61, 65), "AT1": (31, 32), "AT11": (10, 9), "AT12": (21, 23), "AT2": (30, 33)}
    rows = "".join(f"{code},{f},{m}\n" for code, (f, m) in counts.items())
    with pytest.raises(InputError, match="in 'geo' look like totals of 'AT1"):
        told(write(tmp_path, f"geo,f,m\n{rows}"))
    for values in (("A", "AB", "B"), ("1", "10", "11")):  # not these
        rows = "".join(f"{v},{n},{n}\n" for v, n in zip(values, (7, 3, 4), strict=True))
        path = write(tmp_path, f"geo,f,m\n{rows}")
        assert read_table(path, schema_of_table(path)).sum() == 28


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("geo,f,m\nDE,1,2\nFR,3,4\n", r"write 'f' as 'F', and so on"),
        ("sex,DE,FR\nF,1,2\nM,3,4\n", "headings are the values of 'geo', which is not the"),
        ("geo,sex,count\nDE,F,1\nDE,F,2\n", r"each row is one record, add --records"),
        ("id,geo,sex,count\n1,DE,F,1\n2,DE,F,2\n", r"each row is one record, add --records"),
        ("geo,count\nDE,1\n", "lacks the schema's column 'sex'"),
        ("geo,age,income\nDE,1,7\n", "lacks the schema's column 'sex'"),
    ],
)
def test_tables_that_are_nearly_of_the_schemas_form(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_table(write(tmp_path, text), SCHEMA)


def test_a_wide_table_whose_first_columns_are_in_another_order(tmp_path):
    schema = parse_schema(json.dumps({"columns": {"a": ["A"], "b": ["1"], "c": ["x", "y"]}}))
    with pytest.raises(InputError, match="not in the schema's order: 'a' and 'b'"):
        read_table(write(tmp_path, "b,a,x,y\n1,A,3,4\n"), schema)


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")  # nobody writes into it: opening it would wait for ever
    for read in (schema_of_table, lambda path: read_table(path, SCHEMA)):
        with pytest.raises(InputError, match=r"is a pipe or a device.*save it as a file"):
            read(tmp_path / "pipe.csv")


OPEN = {
    "sex": {"values": ["f", "m", "1"], "other": "x"},
    "age": {"cuts": [18, 1000], "other": "not a number"},
}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("F,3", "but for capital letters"),
        ("1.0,3", "it is one as a number"),
        ("\uff46,3", "but for spaces, dashes or the like"),
        ("sex,age", "names the columns again"),
        ("Source: us,", "as it is a note"),
        ('m,"1,200"', "a number in another form"),
        ('m,"20,5"', "a number in another form"),
        ("m,50 %", "a number in another form"),
    ],
)
def test_a_catch_all_is_not_meant_for_listed_values_badly_written(tmp_path, row, message):
    schema = parse_schema(json.dumps({"columns": OPEN}))
    path = write(tmp_path, f"sex,age\nf,3\n{row}\n")
    with pytest.raises(InputError, match=f"row 3, .*{message}"):
        read_table(path, schema)
    path = write(tmp_path, "sex,age\nf,3\nff,20.5\n2,old\nT,NA\nsource,1e3\nnote taker,7\n")
    assert read_table(path, schema).sum() == 6


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_names_of_columns_with_line_breaks(tmp_path, mark, end):
    head = mark.join(["geo", f'"F{end}(women)"', f'"M {end} (men)"'])
    text = f"{head}{end}DE{mark}5{mark}60{end}FR{mark}7{mark}8{end}"
    path = write(tmp_path, text)
    schema = schema_of_table(path)
    assert schema.values[1] == ("F (women)", "M (men)")
    np.testing.assert_array_equal(read_table(path, schema), TABLE)
    path = write(tmp_path, text.replace("60", '"60'))
    with pytest.raises(InputError, match="quotation mark is"):
        read_table(path, schema)


def test_fields_that_seem_to_say_that_nothing_is_known_are_told(tmp_path):
    columns = {
        "born": {"values": ["DE"], "other": "elsewhere", "empty": "not stated"},
        "pay": {"cuts": [1000], "empty": "not stated"},
    }
    schema = parse_schema(json.dumps({"columns": columns}))
    for row, words in (
        ("NA,3", "'born' has fields such as NA, which are counted at 'elsewhere'"),
        ("null,3", "'born' has fields such as null"),
        ("DE,-9", "'pay' has negative numbers such as -9"),
        ("DE,-999.0", "'pay' has negative numbers such as -999"),
    ):
        path = write(tmp_path, f"born,pay\nDE,2000\n{row}\n")
        assert [words in s for s in told(path, schema)] == [True]
        assert read_table(path, schema).sum() == 2
    path = write(tmp_path, "born,pay\nDE,2000\nFR,-250\n,\nDE,\n")
    assert told(path, schema) == []
    listed = {"columns": {"born": {**columns["born"], "values": ["DE", "NA"]}}}  # Namibia
    path = write(tmp_path, "born\nDE\nNA\n")
    assert told(path, parse_schema(json.dumps(listed))) == []
