"""The first part of a release's README: what it is and how far to trust it, for any reader."""

from __future__ import annotations

import math
import textwrap

import numpy as np
from numpy.typing import NDArray

from ..base.numbers import at_most, listed
from ..model.queryset import QuerySet
from .budget import REPLACED
from .fit import Release
from .manifest import MANIFEST
from .report import ALL
from .strength import times, warnings_of
from .text import query_columns

Array = NDArray[np.float64]

WIDTH = 88
_KINDS = 12
"""So many kinds of counts are listed for every reader; the others stand in the second part."""


def paragraph(*sentences: str) -> list[str]:
    """Return sentences as lines."""
    return textwrap.wrap(" ".join(sentences), WIDTH)


def number(value: float) -> str:
    """Write a number of records, two digits where it is small.

    Examples
    --------
    >>> number(12.34), number(1.234), number(0.001), number(float("nan"))
    ('12.3', '1.2', '0', '-')
    """
    if math.isnan(value):
        return "-"
    if abs(value) < 0.005:
        return "0"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2g}"


def plain_text_of(release: Release, has_records: bool, most: int) -> list[str]:
    """Return the part of the README for every reader, as lines."""
    return [
        "What is in this folder?",
        *paragraph(*_what(release)),
        "",
        "How exact are the counts?",
        *_how_exact(release),
        "",
        "How well does this protect people?",
        *paragraph(*_how_well(release)),
        "",
        "Which file holds what?",
        *_files(release, has_records, most),
    ]


def records_text(count: int) -> str:
    """Say how many records there are.

    Examples
    --------
    >>> records_text(1), records_text(0)
    ('1 record', '0 records')
    """
    return f"{count} record{'s' * (count != 1)}"


def _what(release: Release) -> list[str]:
    mechanism = release.measured.mechanism
    if mechanism.neighbours == REPLACED:
        hidden, but = "what any one record says", " but the number of all records, which is public,"
    else:
        hidden, but = "whether any one record was in the data at all", ""
    purpose = (
        "Though that may tell next to nothing apart: see the warning above."
        if warnings_of(release.measured.workload, mechanism)
        else f"So nobody can be sure from them {hidden}."
    )
    made = (
        []
        if release.rounded is None
        else [
            "The records here are made up to fit these counts. None of them is a real one, even "
            "where one looks the same."
        ]
    )
    return [
        "Counts that are close to the true ones, but are not the true ones. A random number, the "
        f"noise, was added to each{but} before anything else was done. {purpose}",
        "A record is one row of the data that were counted, as a rule one person.",
        *made,
    ]


def _how_well(release: Release) -> list[str]:
    mechanism = release.measured.mechanism
    besides, ratio = "", _times(times(mechanism.guarantee))
    if not mechanism.pure:
        besides = ", apart from a chance of one in a million"
    if mechanism.neighbours == REPLACED:
        otherwise = "had said something else"
    else:
        otherwise = "had been left out of the data"
    return [
        f"Suppose that one record {otherwise}. What stands here could have come out then, too, and "
        f"its probability would have been at most {ratio} times smaller or larger{besides}."
        " With a factor of 1 nothing could be learned about a single record; the larger "
        "the factor, the weaker the protection.",
        "Whoever has several records in the data is protected less, and so is whoever is in other "
        "tables that were released. What can be learned about groups is not hidden: it is what the "
        "counts are for.",
    ]


def _how_exact(release: Release) -> list[str]:
    measured, report, rounded = release.measured, release.report, release.rounded
    if report is None:
        return paragraph("That could not be estimated; see the second part.")
    said = []
    whole = next((k for k, q in enumerate(measured.workload.query_sets) if is_total(q)), None)
    if rounded is not None:
        said.append(f"The published table has {records_text(int(rounded.table.sum()))}.")
        if whole is not None and measured.mechanism.scales[whole] == 0:
            said.append("That is the true number, which is public.")
        elif whole is not None and report.halves is not None:
            low, high = ends(report.signed[whole][0], report.halves[whole])
            said.append(
                f"The true number is between {low[0]} and {high[0]}, with a probability of 90 %."
            )
        total = report.expected.set_index("query_set").reindex([ALL])["fitted"].iloc[0]
        if math.isfinite(total):
            said.append(
                f"How many there are was not asked; that number is typically off by {total:.2g}."
            )
    lines = paragraph(*said) if said else []
    kinds = _kinds(release)
    if kinds:
        lines += [""] * bool(lines) + ["Typically, one count is off by about this many records:"]
        width = max(len(off) for off, _ in kinds[:_KINDS])
        lines += [f"  {off:>{width}}   {what}" for off, what in kinds[:_KINDS]]
        if kinds[_KINDS:]:
            lines.append(f"  and {len(kinds) - _KINDS} more kinds of counts; see the second part")
        lines += paragraph(
            "Up to one count in four may be off by twice as much or more. Do not read anything "
            "into counts, or into differences between counts, of that size: they may be nothing "
            "but noise. Small areas and small groups suffer most: being off by 10 hardly matters "
            "to 5000 people, and spoils a count of 12."
        )
    return [*lines, *_example(release)]


def _kinds(release: Release) -> list[tuple[str, str]]:
    """Say of each kind of count that was asked by how much it is typically off."""
    measured, report = release.measured, release.report
    assert report is not None
    rows = report.expected[report.expected["asked"]].set_index("query_set")
    found = []
    scales = measured.mechanism.scales
    asked = zip(measured.workload.query_sets, measured.columns, scales, strict=True)
    for queries, columns, scale in asked:
        fitted, signed = (float(rows[c].loc[queries.name]) for c in ("fitted", "ols"))
        off = fitted if fitted > 0 else signed
        if not math.isfinite(off) or scale == 0:  # unknown, or public and exact
            continue
        names = [measured.schema.columns[k] for k in columns]
        if is_total(queries):
            what = "in the number of all records"
        elif len(names) == len(measured.schema.columns) > 1:
            what = "for each combination of all columns, the finest kind of count"
        else:
            what = f"for each {listed(names)}"
        found.append((number(off), what))
    return found


def _example(release: Release) -> list[str]:
    """Read one line of the intervals aloud: the first that is not the total, whatever it says."""
    measured, report, rounded = release.measured, release.report, release.rounded
    if report is None or report.halves is None:
        return []
    sets = measured.workload.query_sets
    asked = [
        k
        for k, q in enumerate(sets)
        if q.size > 1 and measured.mechanism.scales[k] > 0 and measured.columns[k]
    ]
    lines = [
        "",
        *paragraph(
            "The file intervals.csv says for each count between which two numbers the true one is. "
            "Nine in ten of these statements hold, on average."
        ),
    ]
    if not asked or rounded is None:
        return lines
    first = asked[0]
    published = int(np.rint(sets[first].answers(rounded.table)[0]))
    named = query_columns(measured.schema, sets[first], measured.columns[first])
    columns = [measured.schema.columns[k] for k in measured.columns[first]]
    which = listed([f"{c} = {named[c][0].as_py()!r}" for c in columns])
    low, high = ends(report.signed[first][0][:1], report.halves[first][:1])
    return lines + paragraph(
        f"For example, {records_text(published)} with {which} {'is' if published == 1 else 'are'} "
        f"published, and the true number is between {low[0]} and {high[0]}."
    )


def _times(ratio: float) -> str:
    """Write the largest ratio of probabilities, rounded up."""
    return at_most(ratio, 2) if ratio < 4e5 else "a million or more"


def is_total(queries: QuerySet) -> bool:
    """Whether a query set is the one question of how many records there are."""
    return queries.size == 1 and bool((queries.labels >= 0).all())


def ends(signed: Array, half: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the whole numbers of 0 or more at the ends of intervals, moved inwards.

    An interval without a whole number shrinks to the nearest.

    Examples
    --------
    >>> low, high = ends(np.array([3.2, -4.0]), np.array([1.5, 1.0]))
    >>> low.tolist(), high.tolist()
    ([2, 0], [4, 0])
    """
    low = np.maximum(np.ceil(signed - half - 1e-9), 0)
    high = np.maximum(np.floor(signed + half + 1e-9), 0)
    near = np.maximum(np.rint(signed), 0)
    empty = low > high
    return np.where(empty, near, low).astype(np.int64), np.where(empty, near, high).astype(np.int64)


def _files(release: Release, has_records: bool, most: int) -> list[str]:
    lines = []
    if release.rounded is not None:
        lines.append("  table_integer.csv    how many records each combination of values has")
        if has_records:
            lines.append("  records.csv          the same as a list, one row a record")
            lines.append("  records.parquet      that list again, for programs that read it faster")
        else:
            lines.append(f"  (no records.csv: there would be more than {most} rows)")
    if release.report is not None and release.report.halves is not None:
        lines.append("  intervals.csv        between which two numbers each true count is")
    return [
        *lines,
        "  data_dictionary.txt  what each column means",
        "For specialists:",
        "  expected_errors.csv  how far off to expect the answers to be",
        "  measurements.csv     the noisy answers with their variances",
        "  table_weighted.csv   the fitted table, records with fractions",
        "  schema.json          columns and allowed values",
        f"  {MANIFEST}        guarantee, noise, workload, method, versions, checksums",
    ]
