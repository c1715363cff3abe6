"""Tables of a release as CSV text: one row a query or a cell, named by columns' values."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from ..model.queryset import QuerySet
from ..tables.schema import Schema


def query_columns(schema: Schema, queries: QuerySet, columns: Sequence[int]) -> dict[str, pa.Array]:
    """Return the values that each query counts, one array a column; empty text means all.

    Parameters
    ----------
    schema
        Columns and values.
    queries
        A query set.
    columns
        The columns whose values name its queries.

    Examples
    --------
    >>> schema = Schema(("a", "b"), (("x", "y"), ("1", "2")))
    >>> named = query_columns(schema, QuerySet.marginal((2, 2), (1,)), (1,))
    >>> {k: v.to_pylist() for k, v in named.items()}
    {'a': ['', ''], 'b': ['1', '2']}
    """
    first = np.zeros(queries.size, dtype=np.intp)
    counted = np.flatnonzero(queries.labels >= 0)[::-1]
    first[queries.labels[counted]] = counted
    blank = pa.array([""] * queries.size, pa.string())
    return {
        name: pa.array(values, pa.string()).take(pa.array(schema.places(k)[first]))
        if k in columns
        else blank
        for k, (name, values) in enumerate(zip(schema.columns, schema.values, strict=True))
    }


def cell_columns(schema: Schema) -> dict[str, pa.Array]:
    """Return the values of every possible cell, one array a column."""
    return {
        name: pa.array(values, pa.string()).take(pa.array(schema.places(k)))
        for k, (name, values) in enumerate(zip(schema.columns, schema.values, strict=True))
    }


def csv_bytes(
    columns: Mapping[str, pa.Array | NDArray[np.generic]], *, header: bool = True
) -> bytes:
    r"""Return columns as CSV text in UTF-8; texts are quoted where one needs it.

    Examples
    --------
    >>> csv_bytes({"a": pa.array(["x", "y,z"]), "n": np.array([1, 2])})
    b'a,n\n"x",1\n"y,z",2\n'
    """
    out = io.BytesIO()
    if header:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(columns)
        out.write(line.getvalue().encode())
    table = pa.table({k: pa.array(v) for k, v in columns.items()})
    start = out.tell()
    try:  # "needed" quotes every text; most texts need none
        options = arrow_csv.WriteOptions(include_header=False, quoting_style="none")
        arrow_csv.write_csv(table, out, options)
    except pa.ArrowInvalid:
        out.seek(start)
        out.truncate()
        options = arrow_csv.WriteOptions(include_header=False, quoting_style="needed")
        arrow_csv.write_csv(table, out, options)
    return out.getvalue()
