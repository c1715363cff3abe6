"""What a notebook says and shows: complete in Jupyter, and made into pages by the book."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from ..base.numbers import format_number
from ..exceptions import InputError
from ..figures.style import render

if TYPE_CHECKING:
    import pandas as pd

    from ..fitting.fit import Fit

METADATA_KEY = "microdata_price"
"""Where the description of a figure travels in the metadata of a notebook's output."""
MARKS = re.compile(r"\{[a-z][a-z:_-]*\}`|^\s*(?::{3,}|`{3,})\s*\{", re.MULTILINE)
"""What only the book's builder would understand: roles and directives."""


def plain(text: str, what: str) -> str:
    """Return text that every reader of Markdown understands; refuse a role or a directive."""
    if mark := MARKS.search(text):
        said = "which Jupyter would show as it is; write plain Markdown with ordinary links"
        raise InputError(f"{what} has the mark {mark.group().strip()!r}, {said}")
    if not text.strip():
        raise InputError(f"{what} is empty")
    return text.strip()


def say(text: str, name: str = "") -> None:
    """Show computed Markdown where it is computed.

    With a `name`, prose pages quote it as ``{{ chapter.name }}``; it is one paragraph then.
    """
    text = plain(text, "a sentence to say")
    _publish({"text/markdown": text, "text/plain": text}, say=text)
    if name:
        record(**{name: text})


def record(**values: str) -> None:
    """Name values, a paragraph at most, that prose pages quote; nothing is shown here."""
    for name, text in values.items():
        body = plain(text, f"the recorded text {name!r}")
        if "\n\n" in body:
            raise InputError(f"the recorded text {name!r} is longer than a paragraph")
        body = re.sub(r"\s*\n\s*", " ", body)
        # Jupyter shows the first kind that it knows: a comment, so nothing.
        shown = {"text/html": f"<!-- {name} -->", "text/plain": f"{name}: {body}"}
        _publish(shown, record={name: body})


def _sentence(value: str, what: str) -> str:
    text = re.sub(r"\s+", " ", value).strip() if isinstance(value, str) else ""
    if len(text) < 20 or not text.endswith((".", "!", "?", ")", "$")):
        raise InputError(f"the {what} is {value!r}; it must be one or more whole sentences")
    return plain(text, f"the {what}")


def show(thing: Figure | pd.DataFrame, name: str, caption: str, alt: str = "") -> None:
    """Put a figure or a table on the page, with its caption; the book numbers it.

    Its name, unique in the book, is the one in links, ``[Figure](#name)``. A figure comes from a
    function marked by `drawn` and needs a text `alt` for those who do not see it; a frame has
    columns of numbers or of Markdown, its index is not shown, missing values become dashes.
    """
    kind = "figure" if isinstance(thing, Figure) else "table"
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        said = "lower-case letters, digits and hyphens, for example 'difficult-histograms'"
        raise InputError(f"the {kind}'s name is {name!r}; it must be {said}")
    about = {"name": name, "caption": _sentence(caption, f"caption of {kind} {name!r}")}
    text = about["caption"]
    shown = f'<a id="{name}"></a>**{kind.capitalize()}.** {text}'
    if isinstance(thing, Figure):
        if thing.get_label() != "drawn":
            said = f"figure {name!r} was drawn by no function marked with @drawn; draw it in"
            raise InputError(f"{said} a module of microdata_price.figures")
        about["alt"] = _sentence(alt, f"alternative text of figure {name!r}")
        _publish({"image/svg+xml": render(thing), "text/plain": about["alt"]}, figure=about)
        _publish({"text/markdown": shown, "text/plain": f"Figure. {text}"}, caption_of=name)
        return
    if thing.empty:
        raise InputError(f"table {name!r} has no rows or no columns")
    about["markdown"] = table_markdown(thing)
    bare = f"Table. {text}\n\n{thing.to_string(index=False)}"
    shown = f"{shown}\n\n{about['markdown']}"
    _publish({"text/markdown": shown, "text/plain": bare}, table=about)


def certificate(*fits: Fit | float) -> None:
    """Report the worst certificate of fits, for the book's page of computations.

    Given are all fits that a notebook uses or, where they are gone, their worst certificate.
    """
    values = [float(f) if isinstance(f, (int, float)) else f.certificate.worst for f in fits]
    if not values or not all(math.isfinite(v) and v >= 0 for v in values):
        said = f"the certificates to report are {values}; give at least one"
        raise InputError(f"{said}, finite and not negative")
    _publish({"text/plain": f"worst certificate {max(values):.1e}"}, certificate=max(values))


def offer(name: str, content: str, label: str) -> None:
    """Put a link on a notebook's page by which readers download a text file."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*\.[a-z0-9]+", name):
        said = "lower-case letters, digits, '-' and '_' with an ending, for example 'errors.csv'"
        raise InputError(f"the file's name is {name!r}; it must be {said}")
    if not content:
        raise InputError(f"the file {name!r} is empty")
    size = f"{len(content.encode()) / 1000:,.0f} kB"
    file = {"name": name, "content": content, "label": label, "size": size}
    _publish({"text/plain": f"{label} ({name}, {size})"}, file=file)


def table_markdown(frame: pd.DataFrame) -> str:
    """Write a frame as a Markdown table; numbers as `format_number` does, aligned right.

    Examples
    --------
    >>> import pandas as pd
    >>> print(table_markdown(pd.DataFrame({"method": ["OLS"], "error": [105.785]})))
    | method | error |
    | :--- | ---: |
    | OLS | 106 |
    """
    sides = ["---:" if kind.kind in "iuf" else ":---" for kind in frame.dtypes]
    lines = [list(map(str, frame.columns)), sides]
    lines += [[_cell(v) for v in row] for row in frame.itertuples(index=False)]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return text.replace(" × 10", "\u00a0×\u00a010")  # a number is not broken in a narrow column


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if hasattr(value, "__float__") and not isinstance(value, (bool, str)):
        return format_number(float(value))
    return str(value).replace("|", "\\|").replace("\n", " ")


def _publish(data: dict[str, str], **about: Any) -> None:
    from IPython.core.getipython import get_ipython
    from IPython.display import display

    if get_ipython() is not None:
        display(data, metadata={METADATA_KEY: about}, raw=True)
