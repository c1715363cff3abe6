"""Writing tables as text."""

from __future__ import annotations

import csv
import io

import numpy as np
from numpy.typing import ArrayLike

from .schema import COUNT, WEIGHTED, Schema


def table_text(schema: Schema, table: ArrayLike) -> str:
    """Return a table as the text of a long CSV file, one row a cell.

    A weighted table's numbers stand under ``weighted_count``, so that `release` and `price` know
    and refuse it.

    Examples
    --------
    >>> print(table_text(Schema(("sex",), (("f", "m"),)), [3, 4]), end="")
    sex,count
    f,3
    m,4
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*schema.columns, WEIGHTED if schema.weighted else COUNT])
    numbers = np.asarray(table).ravel().tolist()
    writer.writerows([*cell, n] for cell, n in zip(schema.cell_values(), numbers, strict=True))
    return out.getvalue()
