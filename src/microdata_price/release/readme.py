"""The README of a release: a part for any reader, and a part with what must be precise."""

from __future__ import annotations

import math
import textwrap

import numpy as np
import pandas as pd

from ..base.numbers import not_below
from ..fitting import METHODS
from . import strength
from .budget import REPLACED
from .fit import Release
from .plain_words import WIDTH, number, paragraph, plain_text_of

MISSING_WORDS = ("", "NA", "N/A", "NaN", "nan", "None", "null", "NULL", "<NA>", "n/a", "#N/A")
"""Words that common programs read as a missing value."""


def moved_text(value: float) -> str:
    """Write a distance below one so that it does not read as one.

    Examples
    --------
    >>> moved_text(0.99999), moved_text(0.25), moved_text(0.0)
    ('0.999', '0.250', '0.000')
    """
    return f"{math.floor(value * 1000) / 1000:.3f}" if value < 1 else f"{value:.3f}"


def errors_text(expected: pd.DataFrame) -> str:
    """Return the expected errors as a table of plain text."""

    def span(low: float, high: float) -> str:
        return "-" if math.isnan(low) else f"{number(low)} to {number(high)}"

    shown = pd.DataFrame(
        {
            "query set": [
                name if asked else f"{name}, not asked"
                for name, asked in zip(expected["query_set"], expected["asked"], strict=True)
            ],
            "queries": expected["queries"],
            "noisy": [number(v) for v in expected["noisy_answers"]],
            "signed": [number(v) for v in expected["ols"]],
            "published": [number(v) for v in expected["fitted"]],
            "between": [
                span(a, b)
                for a, b in zip(expected["fitted_low"], expected["fitted_high"], strict=True)
            ],
            "bias": [number(v) for v in expected["bias"]],
            "bias between": [
                span(a, b) for a, b in zip(expected["bias_low"], expected["bias_high"], strict=True)
            ],
        }
    )
    return shown.to_string(index=False)


def warnings_of(release: Release) -> list[str]:
    """Return what must be said loudly wherever the release is described."""
    return strength.warnings_of(release.measured.workload, release.measured.mechanism)


def guarantee_text(release: Release) -> list[str]:
    """Return what is guaranteed, and for which step between tables, as paragraphs."""
    mechanism = release.measured.mechanism
    symbol = mechanism.guarantee.parameter
    moved = mechanism.replacement
    level = moved.level
    if mechanism.neighbours == REPLACED:
        return paragraph(
            f"Guarantee: {mechanism.guarantee.describe()}, for everything in this folder together.",
            "It compares any two tables with the same total that differ in one record, replaced by "
            "another. The total itself is published exactly and is not protected, because it is "
            "public.",
        )
    return [
        *paragraph(
            f"Guarantee: {mechanism.guarantee.describe()}, for everything in this folder together.",
            "It compares any two tables that differ by one record added or removed.",
        ),
        "",
        *paragraph(
            "Replacing one record by another is two such steps, one removed and one added. It "
            f"costs at most {symbol} = {not_below(level, 6)}: the figure to go by if the total "
            "number of records is public anyway.",
        ),
    ]


def _structure_text(release: Release) -> list[str]:
    schema = release.measured.schema
    if not schema.restricted:
        return []
    return [
        "",
        *paragraph(
            "Some combinations of values are impossible by the schema, and no record is published "
            "in them. This is public knowledge and costs no privacy: the guarantee is about tables "
            "that have no record there either.",
        ),
    ]


def _accuracy_text(release: Release) -> list[str]:
    report = release.report
    if report is None:
        return paragraph(
            "How far off the published table is could not be estimated: the computation failed. "
            "The table itself is not affected. Fit again with --again to have it estimated."
        )
    lines = [
        "How far off one answer is to be expected, in records",
        errors_text(report.expected),
        "",
        *paragraph(
            "A query set asks one question for each value of its columns: 'sum' asks how many "
            "records there are, a column's name how many have each of its values, names joined by "
            "stars how many have each combination of theirs, 'identity' how many have each "
            "combination of all columns, that is, are in each cell of the table.",
        ),
        *paragraph(
            "How far off means the root mean square: the square root of the mean of the squared "
            "errors. At most one error of four is to be expected twice as large or larger.",
        ),
        *paragraph(
            "'Noisy' is an answer in measurements.csv. 'Signed' is what least squares makes of all "
            "noisy answers together; it may be negative. Both are exact, whatever the true table.",
        ),
    ]
    if release.rounded is None:
        return lines
    if not report.draws:
        lines += paragraph(
            f"'Published' was not estimated: a fit takes {report.seconds:.2g} seconds. Ask for it "
            "with --again and --draws 20."
        )
        return lines
    lines += paragraph(
        "'Published' is an answer counted in the published records: its variance and the square of "
        "its bias together. The bias is how much too large the published answers of a set are on "
        "average; a published count cannot be negative, so empty cells come out too large and "
        "others too small. The bias is measured against the signed answers, which have none. The "
        "variance is estimated: tables that the measurements allow were measured anew, "
        f"{report.draws} times. 'Between' gives the values that fit what was seen, at 90 % for "
        "each.",
    )
    if report.left_out:
        lines += paragraph(
            f"{report.left_out} further imitated measurements could not be fitted and were left "
            "out."
        )
    return lines


def _intervals_text(release: Release) -> list[str]:
    if release.report is None or release.report.halves is None:
        return []
    return [
        "",
        *paragraph(
            "Intervals for the true counts (intervals.csv). A true count lies between 'low' and "
            "'high' with a probability of 90 %, for one query by itself. All true counts lie "
            "between 'low_all' and 'high_all' at once with a probability of 90 %: use these to "
            "search among many. Both rest on the known law of the noise and hold for every true "
            "table; they are about the true counts, not the published ones, which may lie outside. "
            "So a published count is too large by at least 'published' minus 'high' and at most "
            "'published' minus 'low', with the same probability.",
        ),
    ]


def _rounding_text(release: Release) -> list[str]:
    rounded = release.rounded
    if rounded is None:
        return []
    far = ", ".join(f"{name} {moved_text(v)}" for name, v in rounded.deviations.items())
    word = (
        "a theorem keeps every one of them below one"
        if rounded.within_one
        else f"whole records cannot keep all of them below {rounded.least:.3f}"
    )
    return ["", *paragraph(f"Rounding moved no answer by more than: {far} ({word}).")]


def _opendp_text() -> list[str]:
    return paragraph(
        "The noise comes from OpenDP, a library for differential privacy, and the operating "
        "system's randomness; there is no seed. OpenDP publishes a written proof for each of the "
        "two functions used, make_laplace and make_gaussian, that their output on whole numbers "
        "has the stated privacy loss; it ships them under its flag 'contrib', for code that has "
        "not passed its own review in full. How far one record moves the answers, and the sum of "
        "the losses over the query sets, are this package's own arithmetic, done exactly and "
        "rounded upwards.",
    )


def _method(name: str) -> str:
    label = METHODS[name].label
    return repr(name) if label == name else f"{name!r} ({label})"


def readme_text(release: Release, has_records: bool, most: int) -> bytes:
    """Return the README.

    Parameters
    ----------
    release
        What is published.
    has_records
        Whether records are written.
    most
        How many records are written at most.
    """
    method = (
        "Made from the noisy answers by least squares alone (ols): no microdata."
        if release.rounded is None
        else f"Made from the noisy answers by the method {_method(release.method)}: "
        f"{METHODS[release.method].promise}"
    )
    symbol = release.measured.mechanism.guarantee.parameter
    repeated = "k times" if release.measured.mechanism.pure else "k squared times"
    loud = [line for text in warnings_of(release) for line in (*paragraph(text), "")]
    lines = [
        "A DIFFERENTIALLY PRIVATE RELEASE",
        "",
        *loud,
        "PART 1: FOR EVERY READER",
        "",
        *plain_text_of(release, has_records, most),
        "",
        "",
        "PART 2: FOR SPECIALISTS",
        "",
        *guarantee_text(release),
        "",
        *paragraph(
            "What is protected: whether any one record is in the table, and what it says. "
            "Everything here was computed from noisy answers; the true table was not used after "
            "they were drawn."
        ),
        "",
        *paragraph(
            "What is not protected: the schema (columns and allowed values), the table's shape and "
            f"what was asked are public. The {symbol} above is the level of protection: the "
            f"smaller, the better. A person with k records has {repeated} it. Other releases about "
            "the same people add up; the level of all of them together is printed by"
        ),
        "  microdata-price budget FOLDER FOLDER ...",
        *_structure_text(release),
        "",
        *paragraph(method),
        *paragraph(
            "To fit the same measurements by another method, without the true table and at no "
            "further cost:"
        ),
        "  microdata-price release --again FOLDER --method METHOD --out FOLDER",
        "",
        *_accuracy_text(release),
        *_intervals_text(release),
        *_rounding_text(release),
        "",
        *_opendp_text(),
    ]
    return ("\n".join(lines) + "\n").encode()


def dictionary_text(release: Release) -> bytes:
    """Return the data dictionary: each file's columns, and values that programs misread."""
    schema = release.measured.schema
    lines = ["DATA DICTIONARY", "", "Columns of the schema (in every table)"]
    for name, values, rule in zip(schema.columns, schema.values, schema.rules, strict=True):
        shown = ", ".join(values[:6]) + (f", ... ({len(values)} values)" if len(values) > 6 else "")
        lines += textwrap.wrap(
            f"{name}: {shown}", WIDTH, initial_indent="  ", subsequent_indent="    "
        )
        if rule.other:
            lines.append(f"    values that are not listed were counted at {rule.other!r}")
        if rule.empty:
            lines.append(f"    empty fields were counted at {rule.empty!r}")
        misread = [v for v in values if v in MISSING_WORDS]
        if misread:
            lines.append(
                f"    {', '.join(misread)}: a word, not a missing value; many programs read it as "
                "missing"
            )
            lines.append("    unless told otherwise (pandas: keep_default_na=False)")
        if any(
            np.char.isdigit(v) and v != str(int(v)) for v in values if v.isascii() and len(v) < 400
        ):
            lines.append("    codes with leading zeros: read the column as text")
    lines += [
        "",
        "Column of table_integer.csv",
        "  count          how many records have these values",
        "",
        "Column of table_weighted.csv",
        "  weight         the same before it was made a whole number",
        "",
        "Columns of measurements.csv and intervals.csv",
        "  query_set      which kind of count: 'sum' is all records; a column's name, or names",
        "                 joined by stars, the records with each combination of their values;",
        "                 'identity' those with each combination of all values.",
        "                 A column that is empty in a row counts all its values.",
        "  noisy_answer   the true count with noise, a whole number, perhaps negative",
        "  variance       of the noise, in squared records; 0 for a total that is public",
        "  published      the count in table_integer.csv",
        "  low, high      the true count is between them with a probability of 90 %",
        "  low_all, high_all   wider: all true counts at once are between theirs, with 90 %",
        "  signed         what least squares makes of all noisy answers, perhaps negative",
        "  signed_variance   of its error, in squared records, exact",
    ]
    return ("\n".join(lines) + "\n").encode()
