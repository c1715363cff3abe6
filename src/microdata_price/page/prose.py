"""Computed prose: numbers and sentences that a notebook computes and its text quotes.

A notebook names a value once; its text, and any other page, quotes it with MyST's glue role,
``{glue:text}`name```. The book fails to build when a quoted name does not exist or a named value is
never quoted.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from ..base.numbers import format_number
from ..exceptions import InputError
from .style import METADATA_KEY, check_name, check_sentence

if TYPE_CHECKING:
    import pandas as pd

    from ..fitting.fit import Fit

MIME_PREFIX = "application/papermill.record/"
"""Marks an output that is quoted by the text and not shown where it was computed."""


def number(
    name: str, value: float, digits: int = 3, *, se: float | None = None, unit: str = ""
) -> None:
    """Name a number that the text quotes.

    Parameters
    ----------
    name
        The name, unique in the notebook: letters, digits, ``-`` and ``_``.
    value, digits, se
        As for `format_number`.
    unit
        Written after the number, for example ``"%"`` or ``"records"``.

    Examples
    --------
    >>> number("sum_error", 128.0)  # shows nothing; the page quotes {glue:text}`sum_error`
    """
    written = format_number(value, digits, se=se)
    text(name, f"{written}{'' if unit in ('', '%') else ' '}{unit}")


def text(name: str, markdown: str) -> None:
    """Name a phrase or sentence that the text quotes: choose it by the result, so that it is true.

    Parameters
    ----------
    name
        The name, unique in the notebook: letters, digits, ``-`` and ``_``.
    markdown
        One paragraph of MyST text; mathematics and citations are allowed.

    Raises
    ------
    InputError
        A name with other characters, or an empty text.

    Examples
    --------
    >>> text("verdict", "The microdata are worse.")
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        raise InputError(
            f"the name of a quoted value is {name!r}; it must be letters, digits, '-' and '_'"
        )
    body = re.sub(r"\s*\n\s*", " ", markdown).strip()
    if not body:
        raise InputError(f"the quoted text {name!r} is empty")
    _publish(
        {f"{MIME_PREFIX}text/plain": body},
        {"scrapbook": {"name": name, "mime_prefix": MIME_PREFIX}},
    )


def _publish(data: dict[str, str], metadata: dict[str, Any]) -> None:
    from IPython.core.getipython import get_ipython
    from IPython.display import display

    if get_ipython() is not None:
        display(data, metadata=metadata, raw=True)


def table_markdown(frame: pd.DataFrame, digits: int = 3) -> str:
    """Write a frame as a Markdown table; numbers as `format_number` does, aligned right.

    Examples
    --------
    >>> import pandas as pd
    >>> print(table_markdown(pd.DataFrame({"method": ["OLS"], "error": [105.785]})))
    | method | error |
    | :--- | ---: |
    | OLS | 106 |
    """
    numeric = [frame.dtypes.iloc[i].kind in "iuf" for i in range(frame.shape[1])]
    lines = [
        [str(c) for c in frame.columns],
        ["---:" if n else ":---" for n in numeric],
    ]
    for row in frame.itertuples(index=False):
        lines.append([_cell(value, digits) for value in row])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object, digits: int) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if hasattr(value, "__float__") and not isinstance(value, (bool, str)):
        return format_number(float(value), digits)
    return str(value).replace("|", "\\|").replace("\n", " ")


def table(name: str, frame: pd.DataFrame, caption: str, *, digits: int = 3) -> None:
    """Put a table on a notebook's page, numbered and with a caption.

    Parameters
    ----------
    name
        Its name in links, unique in the book; ``{numref}`` refers to it.
    frame
        Columns of numbers or of MyST text; the index is not shown. Missing values become dashes.
    caption
        Whole sentences.
    digits
        Significant digits of numbers.

    Raises
    ------
    InputError
        A name that cannot be part of a link, or a caption that is no sentence, or no rows.
    """
    check_name("table", name)
    if frame.empty:
        raise InputError(f"table {name!r} has no rows or no columns")
    about = {
        "name": name,
        "caption": check_sentence(caption, "caption", f"table {name!r}"),
        "markdown": table_markdown(frame, digits),
    }
    _publish(
        {"text/markdown": f"**Table.** {about['caption']}\n\n{about['markdown']}"},
        {METADATA_KEY: {"table": about}},
    )


def certificate(*fits: Fit | float) -> None:
    """Report the worst certificate of fits, for the book's page of computations.

    Parameters
    ----------
    *fits
        Every fit that the notebook uses, or the worst certificate of such fits as a number where
        the fits themselves are gone, as with an experiment grid.

    Raises
    ------
    InputError
        No fit, or a number that is not finite or below zero.

    Examples
    --------
    >>> certificate(2e-12, 3e-13)  # shows nothing; the page of computations has 2.0e-12
    """
    values = [float(f) if isinstance(f, (int, float)) else f.certificate.worst for f in fits]
    if not values or not all(math.isfinite(v) and v >= 0 for v in values):
        raise InputError(
            f"the certificates to report are {values}; give at least one, finite and not negative"
        )
    worst = max(values)
    _publish(
        {"text/plain": f"worst certificate {worst:.1e}"}, {METADATA_KEY: {"certificate": worst}}
    )


def block(markdown: str) -> None:
    """Put MyST text on a notebook's page as if it were written there (ours).

    It is for what a result decides the shape of: one heading a level, one tab a table.

    Parameters
    ----------
    markdown
        Whole lines of MyST text; headings, directives and quoted numbers are allowed.

    Raises
    ------
    InputError
        An empty text.

    Examples
    --------
    >>> block("## The second level")
    """
    if not markdown.strip():
        raise InputError("the block of text is empty; give it at least one line")
    _publish({"text/markdown": markdown}, {METADATA_KEY: {"block": markdown}})


def file(name: str, content: str, label: str) -> None:
    """Put a link on a notebook's page by which readers download a text file (ours).

    Parameters
    ----------
    name
        The file's name, unique in the book, for example ``"errors.csv"``.
    content
        What the file holds.
    label
        The link's words.

    Raises
    ------
    InputError
        A name that is not lower-case letters, digits, ``-`` and ``_`` with an ending, or an empty
        file.

    Examples
    --------
    >>> file("errors.csv", "method,error", "the errors")
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*\.[a-z0-9]+", name):
        raise InputError(
            f"the file's name is {name!r}; it must be lower-case letters, digits, '-' and '_' with "
            "an ending, for example 'errors.csv'"
        )
    if not content:
        raise InputError(f"the file {name!r} is empty")
    _publish(
        {"text/plain": f"{label} ({name}, {len(content.encode()) / 1000:,.0f} kB)"},
        {METADATA_KEY: {"file": {"name": name, "content": content, "label": label}}},
    )
