"""The files of a release, as bytes computed from a release alone."""

from __future__ import annotations

import io
import textwrap
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from ..base.numbers import at_most
from ..fitting import METHODS
from ..tables.schemas import COUNT, Schema
from ..tables.workloads import query_values
from .budget import REPLACED
from .folder import MANIFEST, README, csv_bytes, manifest_bytes, measured_files
from .intervals import Told
from .measure import Measured
from .mechanism import is_total
from .strength import times, warnings_of

Array = NDArray[np.float64]

MOST_RECORDS = 20_000_000
"""A table of more records is written as a table only."""
MISREAD = ("", "NA", "N/A", "NaN", "nan", "None", "null", "NULL", "<NA>", "n/a", "#N/A")
"""Words that common programs read as a missing value."""


@dataclass(frozen=True, eq=False)
class Release:
    """Everything that a release publishes, computed from noisy answers alone.

    Parameters
    ----------
    measured, method
        The noisy answers and the method by which they are fitted.
    weights, certificate
        The fitted table, shaped as the schema, negative cells only for OLS; how far it is from its
        optimum, relative to its scale.
    whole
        The table of whole records; ``None`` for OLS, which makes no microdata.
    told
        What the noisy answers tell of each query set: those asked, then the others.
    """

    measured: Measured
    method: str
    weights: Array
    certificate: float
    whole: NDArray[np.int64] | None
    told: tuple[Told, ...]

    def moved(self) -> dict[str, float]:
        """Return how far rounding moved the answers of each query set, in counts."""
        if self.whole is None:
            return {}
        off = self.whole - self.weights
        sets = self.measured.workload.query_sets
        return {q.name: float(np.abs(q.answers(off)).max()) for q in sets}


def _records(schema: Schema, table: NDArray[np.int64]) -> dict[str, bytes]:
    """Return one row a record, in the order of the cells, which tells nothing more."""
    cells, counts = schema.frame(), table.ravel()
    packed = io.BytesIO()
    places = pa.array(np.repeat(np.arange(schema.cells), counts))
    listed = pa.Table.from_pandas(cells, preserve_index=False).replace_schema_metadata()
    parquet.write_table(listed.take(places), packed)
    head, *lines = csv_bytes(cells).splitlines(keepends=True)
    repeated = [line * n for line, n in zip(lines, counts.tolist(), strict=True)]
    return {"records.csv": b"".join([head, *repeated]), "records.parquet": packed.getvalue()}


def intervals_csv(release: Release) -> bytes:
    """Return what is told of every query, and the published answer."""
    parts = []
    for told in release.told:
        rows = query_values(release.measured.schema, told.queries)
        rows.insert(0, "query_set", told.queries.name)
        rows = rows.assign(signed=told.signed, signed_variance=told.variance, **told.ends)
        if release.whole is not None:
            published = told.queries.answers(release.whole)
            rows = rows.assign(published=np.rint(published).astype(np.int64))
        parts.append(rows)
    return csv_bytes(pd.concat(parts))


def release_files(release: Release) -> dict[str, bytes]:
    """Return all files of a release by name, the manifest last.

    The same release gives the same bytes: no time, place or name of an input is in them.
    """
    schema, whole = release.measured.schema, release.whole
    cells = schema.frame()
    files = {
        README: readme_text(release).encode(),
        **measured_files(release.measured),
        "intervals.csv": intervals_csv(release),
        "table_weighted.csv": csv_bytes(cells.assign(weight=release.weights.ravel())),
    }
    if whole is not None:
        files["table_integer.csv"] = csv_bytes(cells.assign(**{COUNT: whole.ravel()}))
        if whole.sum() <= MOST_RECORDS:
            files |= _records(schema, whole)
    more = {
        "stage": "finished",
        "method": release.method,
        "certificate": release.certificate,
        "rounding": {"deviations": release.moved()},
    }
    return {**files, MANIFEST: manifest_bytes(release.measured, files, more)}


_README = """\
A DIFFERENTIALLY PRIVATE RELEASE

{warnings}

What this is. Counts close to the true ones, which are not the true ones: a random number, the
noise, was added to each{but} before anything else was done. {made} A record is one row of the
data that were counted, as a rule one person.

How exact the counts are. {total} The file intervals.csv says for each count between which two
numbers the true one is. That follows from the known law of the noise, for every table: 'low' to
'high' holds with a probability of 90 % for one count by itself, 'low_all' to 'high_all' with 90 %
for all counts at once (use it to search among many). {example} True counts are within so many
records of the noisy ones, by kind of count:

{widths}

'signed' is what least squares makes of all noisy answers together, without bias and with the
variance given. {bias}

What is protected. {guarantee}, for this whole folder: between tables that differ by {neighbours},
what stands here would have come out with a probability at most {times} times smaller or
larger{besides}. {replaced} A person with k records has {group} the level. Other releases about the
same people add up (microdata-price budget FOLDER ...). Not protected are columns, values and what
was asked, which are public, and what holds of groups, which counts are for.

How it was made. {method} {rounding} The noise ({noise}) is OpenDP's: make_laplace and make_gaussian
have written proofs and stand under its flag 'contrib'. It is drawn from OpenSSL's generator, which
the operating system seeds; no seed is kept. How far a record moves the answers, and the sum over
query sets, are this package's own arithmetic, exact and rounded upwards. Another method at no
further cost: microdata-price release --again FOLDER --method METHOD --out NEW

Files

{files}

Columns

{columns}
"""


def readme_text(release: Release) -> str:
    """Return the README: one page, for any reader."""
    measured, whole = release.measured, release.whole
    mechanism, schema = measured.mechanism, measured.schema
    public = mechanism.neighbours == REPLACED
    symbol, ratio = mechanism.guarantee.parameter, times(mechanism.guarantee)
    loud = warnings_of(measured.workload, mechanism)
    moved = max(release.moved().values(), default=0.0)
    restricted = "Some combinations of values are impossible by the schema; none has a record. "
    text = _README.format(
        warnings="\n\n".join(loud),
        but=" but the number of all records, which is public," if public else "",
        made="The records are made up to fit these counts; none is a real one, even where one "
        "looks the same."
        if whole is not None
        else "No records are made (ols).",
        total=_total_text(release),
        example=_example(release),
        widths="\n".join(_widths(release)),
        bias="'published' is counted in the published records; minus 'signed' it is the bias that "
        "one can see: a count below 0 is published as 0, so small counts come out too large and "
        "others too small. A published count may lie outside its interval."
        if whole is not None
        else "",
        guarantee=mechanism.guarantee.describe().capitalize(),
        neighbours=mechanism.neighbours,
        times=at_most(ratio, 3) if ratio < 1e6 else "a million or more",
        besides="" if mechanism.pure else ", apart from a chance of one in a million",
        replaced=""
        if public
        else "Replacing one record by another is two such steps: at most "
        f"{symbol} = {mechanism.replacement.level:.6g}.",
        group="k times" if mechanism.pure else "k squared times",
        method=f"Fitted by {METHODS[release.method].label} ({release.method}): "
        f"{METHODS[release.method].promise}",
        rounding=(restricted if schema.possible is not None else "")
        + (f"Rounding moved no answer by more than {moved:.3f}." if whole is not None else ""),
        noise=mechanism.name,
        files="\n".join(_files(release)),
        columns="\n".join(_columns(schema)),
    )
    parts = [part.strip("\n") for part in text.split("\n\n") if part.strip()]
    wrapped = (p if p.startswith("  ") else textwrap.fill(p, 88) for p in parts)
    return "\n\n".join(wrapped) + "\n"


def _total_text(release: Release) -> str:
    parts = []
    if release.whole is not None:
        count = int(release.whole.sum())
        parts.append(f"{count} record{'s are' if count != 1 else ' is'} published.")
    if release.measured.mechanism.neighbours == REPLACED:
        return " ".join([*parts, "That is the true number, which is public."])
    for told in (t for t in release.told if is_total(t.queries)):
        parts.append(
            f"The true number is between {told.ends['low'][0]} and {told.ends['high'][0]} (90 %)."
        )
    return " ".join(parts)


def _example(release: Release) -> str:
    """Read one line of the intervals aloud: the first that is not the total, whatever it says."""
    for told in release.told:
        if release.whole is not None and told.queries.size > 1:
            row = query_values(release.measured.schema, told.queries).iloc[0]
            which = " and ".join(f"{c} = {v!r}" for c, v in row.items() if v)
            count = int(np.rint(told.queries.answers(release.whole)[0]))
            return (
                f"For example, {count} with {which} are published, and the true number is between "
                f"{told.ends['low'][0]} and {told.ends['high'][0]}."
            )
    return ""


def _widths(release: Release) -> list[str]:
    lines = [f"  {'alone':>8}  {'at once':>8}  count"]
    for told in release.told:
        lines.append(f"  {told.half:8d}  {told.wide:8d}  {told.queries.name}")
    return lines


def _files(release: Release) -> list[str]:
    lines = []
    if release.whole is not None:
        lines = ["  table_integer.csv    how many records each combination of values has"]
        if release.whole.sum() <= MOST_RECORDS:
            lines += ["  records.csv          the same, one row a record; records.parquet again"]
        else:
            lines += [f"  (no records.csv: there would be more than {MOST_RECORDS} rows)"]
    return [
        *lines,
        "  intervals.csv        signed answers, intervals and published answers",
        "  measurements.csv     the noisy answers and the variance of their noise",
        "  table_weighted.csv   the fitted table before rounding",
        "  schema.json          columns and allowed values",
        "  manifest.json        guarantee, noise, workload, method, versions, checksums",
    ]


def _columns(schema: Schema) -> list[str]:
    lines = []
    for name in schema.names:
        values = schema.values_of(name)
        notes = [f"{len(values)} values"]
        if name in schema.columns:
            rule = schema.rules[schema.columns.index(name)]
            notes += [f"others counted at {rule.other!r}"] * bool(rule.other)
            notes += [f"empty ones at {rule.empty!r}"] * bool(rule.empty)
        if misread := [v for v in values if v in MISREAD]:
            notes.append(f"{', '.join(misread)}: a word, not a missing value (keep_default_na)")
        if any(v.isdecimal() and v != str(int(v)) for v in values if len(v) < 400):
            notes.append("codes with leading zeros: read as text")
        lines.append(f"  {name}: {'; '.join(notes)}")
    return [
        *lines,
        "  query_set: 'sum' is all records; a column's name each of its values, names joined by",
        "    stars each combination; 'identity' each combination of all. Empty: all values.",
    ]
