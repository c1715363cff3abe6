"""Why a field is no count, or no value of its column, in words that do not repeat it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .column_rules import ColumnRule
from .looks import alike, are_numbers, looks_like_a_note, may_be_a_total

_UNKNOWN = {"na", "n/a", "nan", "null", "none", "<na>", "nil", "#n/a", ".", "-", "?", "unknown"}
"""How programs and people write that nothing is known."""
AGAIN = "the row names the columns again; leave it out"
"""What is said of a header within a table."""


def why_not(text: str, known: Mapping[str, int], *, counted: bool, cut: bool = False) -> str:
    """Say why a value is none of those known, without repeating it.

    Parameters
    ----------
    text
        The field.
    known
        The values that the schema lists.
    counted
        Whether each row is a cell, not a record.
    cut
        Whether the column's numbers are cut into intervals.

    Examples
    --------
    >>> why_not("F", {"f": 0}, counted=False)[-52:]
    'but for capital letters; write it as the schema does'
    """
    if may_be_a_total(text) and (counted or text not in ("T", "TOT")):
        return (
            "the row looks like one of totals, which would count everybody twice; leave out rows "
            "and columns of totals"
        )
    said = "the value is not one that the schema allows"
    if text.casefold() in {v.casefold() for v in known}:
        return f"{said} but for capital letters; write it as the schema does"
    if alike(text) in map(alike, known) and _number(text) is None:
        return f"{said} but for spaces, dashes or the like; write it as the schema does"
    if _number(text) is not None and _number(text) in map(_number, known):
        return (
            f"{said}, though it is one as a number; write codes as the schema does, with the same "
            "leading zeros and without decimals, powers or signs"
        )
    if cut and text and are_numbers([text]):
        return (
            f"{said}: it is a number in another form; write digits and a decimal point, without "
            "marks between thousands and signs of units"
        )
    if looks_like_a_note(text):
        return f"{said}, as it is a note; leave out notes below the table"
    if not text:
        said += ", as it is empty"
        if counted:
            said += (
                " (in a row of totals, perhaps, which would count everybody twice: leave such out; "
                "or below merged cells: write their value in every row)"
            )
    return (
        f"{said}; correct the row, or count what is not listed at a value that is public "
        'beforehand: {"values": [...], "other": "other", "empty": "not stated"}; a schema made '
        "from the data would tell what is in them"
    )


def why_unknown(text: str, rule: ColumnRule) -> str:
    """Say what is odd of a field that is counted and may mean that nothing is known; else empty.

    Examples
    --------
    >>> why_unknown("-99", ColumnRule(cuts=(18.0,)))[:30]
    'negative numbers such as -99, '
    >>> why_unknown("20", ColumnRule(cuts=(18.0,)))
    ''
    """
    if rule.cuts and re.fullmatch(r"-(1|[789]+)(\.0*)?", text):
        return (
            f"negative numbers such as {text}, which are counted in the lowest interval; if they "
            'stand for what is not known, leave such fields empty and count them at "empty"'
        )
    if rule.empty and rule.other and text.casefold() in _UNKNOWN:
        return (
            f"fields such as {text}, which are counted at {rule.other!r} and not at {rule.empty!r} "
            "as empty ones are; if they mean that nothing is known, leave them empty"
        )
    return ""


def _number(text: str) -> float | None:
    """Return the number that a text is, with a decimal comma or point, or ``None``."""
    if len(text) > 100 or not are_numbers([text]):
        return None
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


_COUNT_FAULTS = (
    (r"\d{13,}", "is larger than that: more than there are people"),
    (r"\d+[.,]0*", "has decimals: write 3, not 3.0 or 3,0"),
    (
        r"\d{1,3}([.,' ]\d{3})+([.,]0*)?",
        "seems to have marks between thousands: write 1234, not 1,234 or 1.234 or 1 234",
    ),
    (r"[+\u2212\u2013-] ?\d+|\(\d+\)", "has a sign: write 3, not +3; no count is below 0"),
    (r"\d+([.,]\d*)?[eE][+-]?\d+", "is written with a power of ten: write 1000, not 1e3"),
    (r".*%", "is a share in per cent: counts are needed"),
    (r"\d*[.,]\d+", "is no whole number: weights and shares are no counts of records"),
    (r"[=#].*", "is a formula or an error of a spreadsheet: save the sheet's values"),
    (
        r"(?i)[:*.~\u2013\u2014-]|\.\.+|[<>\u2264\u2265] ?\d+|\(?[a-z]\)?"
        r"|n\.?/?a\.?|nan|null|none|suppressed|confidential",
        "seems to mark a cell that is hidden or not known: what is needed is the true count, from "
        "before anything was hidden",
    ),
    (
        r"\d[\d,. ]*( ?\(?[A-Za-z]{1,2}\)?| ?[*\u2020\u2021#\u00b9\u00b2\u00b3\u2070-\u2079]+)",
        "has a mark after the number, a flag or a footnote: write the number alone",
    ),
    (r"", "is empty: write 0 where nobody is, or leave the row out of a long table"),
)


def not_a_count(text: str) -> str:
    """Say why a field is no count, without repeating it.

    Examples
    --------
    >>> not_a_count("1,234")[:30]
    'not a whole number from 0 to 1'
    """
    why = next((w for form, w in _COUNT_FAULTS if re.fullmatch(form, text)), "")
    return (
        "not a whole number from 0 to 10^12"
        + (f", for it {why}" if why else "")
        + "; every cell must be a count of records, in digits only"
    )
