"""Values that look like one written in two ways, or like damage; persons who occur again."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from ..exceptions import InputError
from .looks import alike

_MONTH = r"(jan|feb|mar|m\u00e4r|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-z]*\.?"
_DATE = re.compile(rf"\d{{1,2}}\.?[- ]{_MONTH}|{_MONTH}[- ]\d{{1,2}}", re.IGNORECASE)
_RANGE = re.compile(r"\d{1,3} ?[-\u2013] ?\d{1,3}")
_ERROR = re.compile(r"#(N/A|REF!|VALUE!|NAME\?|DIV/0!|NUM!|NULL!|#+)|=.+", re.IGNORECASE)
_LOST = "\ufffd"
_PERSON = re.compile(
    r"(person|patient|respondent|student|pupil|member|employee|customer|client|subject|participant"
    r"|user|case|individual)?_?(id|nr|no|number|identifier)|pid|ssn|personid|patientid|uuid"
)
_MOST = 200_000
"""So many rows are looked at for persons who occur again."""


def check_values(place: str, column: str, values: Collection[str]) -> None:
    """Refuse values of a table's own that look like one written in two ways, or like damage.

    Raises
    ------
    InputError
        It names the column and the values.

    Examples
    --------
    >>> check_values("t.csv", "sex", ("female", "male"))
    """
    first: dict[str, str] = {}
    for value in values:
        same = first.setdefault(alike(value), value)
        if same != value:
            raise InputError(
                f"{place}: the values {same!r} and {value!r} of {column!r} look like one that is "
                "written in two ways; correct them (or list both in a schema, --schema)"
            )
    ranges = any(map(_RANGE.fullmatch, values))
    for value in values:
        if _LOST in value:
            what = "holds the mark of letters that were lost; save the table again in UTF-8"
        elif _ERROR.fullmatch(value):
            what = "is a formula or an error of a spreadsheet; save the sheet's values"
        elif ranges and _DATE.fullmatch(value):
            what = "looks like a range that a spreadsheet took for a date; write it as the others"
        else:
            continue
        raise InputError(f"{place}: the value {value!r} of {column!r} {what}")


class Persons:
    """Finds out whether a column that is not read, and names persons, has a value twice.

    Parameters
    ----------
    header
        The columns' names.
    unread
        The places of the columns that are not read.

    Examples
    --------
    >>> persons = Persons(("sex", "person_id"), (1,))
    >>> persons.see({1: ["7", "8", "7"]})
    >>> persons.repeated
    'person_id'
    """

    def __init__(self, header: Sequence[str], unread: Sequence[int]) -> None:
        names = {k: header[k] for k in unread}
        self._open = {
            k: name
            for k, name in names.items()
            if _PERSON.fullmatch(re.sub(r"[\W_]+", "_", name.casefold()).strip("_"))
        }
        self._seen: dict[int, set[str]] = {k: set() for k in self._open}
        self.repeated = ""

    def see(self, columns: Mapping[int, Sequence[str]]) -> None:
        """Look at the next part of the rows."""
        for k, name in self._open.items():
            seen, texts = self._seen[k], columns[k]
            if self.repeated or len(seen) > _MOST:
                return
            before = len(seen)
            seen.update(texts)
            seen.discard("")
            if len(seen) < before + len(texts) - list(texts).count(""):
                self.repeated = name
