"""Computed prose: numbers and sentences that a notebook computes and its text quotes.

A notebook names a value once; its text, and any other page, quotes it with MyST's glue role,
``{glue:text}`name```. The book fails to build when a quoted name does not exist or a named value is
never quoted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..base.numbers import format_number
from ..exceptions import InputError
from .output import _publish, certificate, table_markdown
from .output import offer as file
from .style import METADATA_KEY, check_name, check_sentence

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MIME_PREFIX",
    "block",
    "certificate",
    "file",
    "format_number",
    "number",
    "table",
    "table_markdown",
    "text",
]

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
