"""What names and values look like: counts, numbers of rows, totals."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COUNT_NAMES = _words(
    "n nn num number numbers value values size total totals sum share shares rate pct percent % "
    "prop proportion amount quantity qty w wt wgt obs cases records observations anzahl effectif "
    "nombre estimate observation wert valeur valor antal aantal liczba"
) | {"obs value", "observation value"}
"""Whole names of columns that hold counts, or what else each row stands for."""
_COUNT_WORDS = _words(
    "count counts cnt freq freqs frequency frequencies population pop persons people individuals "
    "weight weights weighted percent percentage percentages perwt pwgtp wgtp "
    "personen einwohner bevölkerung habitants personnes personas habitantes persone abitanti "
    "gewicht poids pondération dweight pweight fweight"
)
"""Words in names of such columns."""
_TOTALS = _words(
    "total totals sum sums all overall margin subtotal both everybody everyone gesamt insgesamt "
    "summe ensemble totale totaal totalt totales toplam razem ogółem celkem spolu yhteensä "
    "összesen ukupno skupaj kokku samtals σύνολο итого всего "
    "合計 总计 總計 合计"
) | {"grand total", "row total", "column total", "col total", "both sexes", "all persons", "i alt"}
"""What rows and columns of totals are called."""
_TOTAL_WORDS = _words(
    "total totals subtotal overall combined altogether gesamt insgesamt zusammen summe ensemble"
)
"""Words in names of rows and columns that may be of totals."""
_TOTAL_CODES = _words("T TOT Persons persons People people")
"""Whole values that totals have in many statistical offices' files, and others have, too."""
_SDMX_TOTAL = "_T"
"""The code of a total in every list of SDMX."""
SHARES = "shares, means or errors"
"""What `looks_like_no_count` says of them."""
_SHARE_WORDS = _words("percent percentage percentages pct prozent pourcentage porcentaje")
_SHARES = _words(
    "share shares rate rates ratio proportion proportions prop density mean median average avg "
    "anteil anteile moe se cv cum cumulative difference growth"
)
"""Whole names of columns of shares and means, which are no counts."""
_UNLIKE_RECORDS = _words(
    "weight weights weighted wt wgt w perwt pwgtp wgtp gewicht poids dweight pweight fweight "
    "estimate thousand thousands tausend millier milliers million millions mio tsd"
)
"""Words in names of counts that are weighted, or in thousands."""
_ATTRIBUTES = _words(
    "year jahr année date month quarter code id fips zip zipcode postcode geoid objectid fid "
    "lat lon lng latitude longitude rank"
)
"""Whole names of columns whose numbers are no counts either."""
_NUMBER = re.compile(r"[+-]?(\d{1,3}([, '\u00a0]\d{3})+|\d+)?([.,]\d*)?([eE][+-]?\d+)? ?%?")


def looks_like_counts(name: str) -> bool:
    """Say whether a column's name is one that counts, weights or shares have.

    Examples
    --------
    >>> [looks_like_counts(n) for n in ("n", "Freq.", "pop_2020", "age", "income")]
    [True, True, True, False, False]
    """
    words = re.findall(r"[^\W\d_]+|%", name.casefold())
    return " ".join(words) in _COUNT_NAMES or bool(_COUNT_WORDS & set(words))


def looks_like_a_total(value: str) -> bool:
    """Say whether a value's name is one that rows and columns of totals have.

    Examples
    --------
    >>> [looks_like_a_total(v) for v in ("Total", "(all)", "Totnes")]
    [True, True, False]
    """
    words = re.findall(r"[^\W\d_]+", value.casefold())
    return value == _SDMX_TOTAL or " ".join(words) in _TOTALS


def may_be_a_total(value: str) -> bool:
    """Say whether a value's name may be one of a total, as others are that hold such a word.

    Examples
    --------
    >>> [may_be_a_total(v) for v in ("County total", "All ages", "Totnes", "Small")]
    [True, True, False, False]
    """
    words = re.findall(r"[^\W\d_]+", value.casefold())
    return (
        looks_like_a_total(value)
        or value in _TOTAL_CODES
        or bool(_TOTAL_WORDS & set(words))
        or words[:1] in (["all"], ["sum"])
    )


_NOTE = re.compile(r"(\W* )?(source|note|quelle|anmerkung|fonte|nota)s? ?:.*", re.IGNORECASE)
"""How notes below a table begin."""


def looks_like_a_note(text: str) -> bool:
    """Say whether a field is a note below a table.

    Examples
    --------
    >>> looks_like_a_note("Source: Census"), looks_like_a_note("note taker")
    (True, False)
    """
    return bool(_NOTE.fullmatch(text))


def looks_unlike_records(name: str) -> bool:
    """Say whether counts under such a name are weighted, shares, or in thousands.

    Examples
    --------
    >>> [looks_unlike_records(n) for n in ("PWGTP", "percent", "count (thousands)", "n", "Freq.")]
    [True, True, True, False, False]
    """
    words = set(re.findall(r"[^\W\d_]+", name.casefold()))
    scaled = re.search(r"'000|\b1 ?000s?\b", name)
    return bool(words & _UNLIKE_RECORDS or scaled or looks_like_no_count(name) == SHARES)


def looks_like_no_count(name: str) -> str:
    """Say what a column of numbers is by its name, if no count: empty for what may be one.

    Examples
    --------
    >>> [looks_like_no_count(n) for n in ("% female", "median age", "Year", "top 10%", "women")]
    ['shares, means or errors', 'shares, means or errors', 'a code, a date or a place', '', '']
    """
    text = name.casefold()
    words = re.findall(r"[^\W\d_]+", text)
    error = re.search(r"margin of error|standard error|std\.? err|\bcum\b", text)
    share = (
        error
        or re.search(r"(?<![\d.,])(?<![\d.,] )%", text)
        or (_SHARE_WORDS & set(words) and not re.search(r"\d ?(per ?cent|pct|prozent)", text))
    )
    if share or " ".join(words) in _SHARES or words[:1] in (["median"], ["mean"], ["average"]):
        return SHARES
    return "a code, a date or a place" if " ".join(words) in _ATTRIBUTES else ""


def are_numbers(texts: Iterable[str]) -> bool:
    """Say whether texts are all numbers, in any usual form, or empty.

    Examples
    --------
    >>> are_numbers(["1", "2.5", "1,234", "12 %", ""]), are_numbers(["1", "x"])
    (True, False)
    """
    return all(_NUMBER.fullmatch(text.strip()) for text in texts)


def mostly_numbers(texts: Iterable[str]) -> bool:
    """Say whether at least half of the texts that are not empty are numbers, or all are empty.

    Examples
    --------
    >>> mostly_numbers(["persons", "12", "30"]), mostly_numbers(["", "x", "y", "1"])
    (True, False)
    """
    found = [are_numbers([text]) for text in texts if text.strip()]
    return 2 * sum(found) >= len(found)


def alike(text: str) -> str:
    """Return what is the same for texts that people write in several ways.

    Capital letters, several spaces, dashes, quotation marks, letters of compatibility, leading
    zeros and decimals of 0 make no difference.

    Examples
    --------
    >>> alike("Old  Man") == alike("old man"), alike("0" + chr(0x2013) + "4") == alike("0 - 4")
    (True, True)
    >>> alike("01") == alike("1.0"), alike("1") == alike("10")
    (True, False)
    """
    text = unicodedata.normalize("NFKC", text).casefold()
    text = re.sub("[\u2018\u2019\u02bc\u00b4`]", "'", re.sub("[\u201c\u201d\u201e]", '"', text))
    text = " ".join(re.sub(" *[\u2010-\u2015\u2212-] *", "-", text).split())
    number = re.fullmatch(r"0*(\d+?)(\.0*)?", text, re.ASCII)
    return number[1] if number else text


def number_the_rows(texts: Sequence[str], first: int | None) -> int | None:
    """Return what number the next row has if the texts number the rows, else ``None``.

    Parameters
    ----------
    texts
        A column, or its next part.
    first
        The number that the first of them must have; ``None`` for 0 or 1.

    Examples
    --------
    >>> number_the_rows(["1", "2", "3"], None), number_the_rows(["1", "3"], None)
    (4, None)
    """
    if not texts:
        return first
    start = int(texts[0]) if first is None and texts[0] in ("0", "1") else first
    if start is None or list(texts) != [str(start + k) for k in range(len(texts))]:
        return None
    return start + len(texts)
