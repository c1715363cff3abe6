"""What the test of a chapter's sentences needs: levels to ask at, and the numbers in a text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from microdata_price.page.output import Caption, plain

EPSILONS = (0.5, 0.05, 3.0, 10.0)
"""The paper's level first, then those at which every sentence must be true as well."""
RHOS = (0.125, 0.00125, 4.5, 50.0)
DELTAS = (1e-6, 1e-12, 1e-3)

_NUMBER = re.compile(r"[−-]?\d[\d,]*(?:\.\d+)?(?: × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?")
_BARE_POWER = re.compile(r"(?<!× )(?<![\d.,])10(?=[⁻⁰¹²³⁴⁵⁶⁷⁸⁹])")
_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def cases(**choices: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the first choices together, then each other choice beside the first of the rest.

    ``cases(epsilon=EPSILONS, d=(1000, 2, 10**5))`` asks at the paper's level and size, at the other
    levels, and at tiny and huge sizes.
    """
    base = {name: values[0] for name, values in choices.items()}
    return [base, *({**base, name: v} for name, values in choices.items() for v in values[1:])]


def texts(found: Any) -> dict[str, str]:
    """Return every sentence of a result by the property that says it; captions in two parts."""
    said: dict[str, str] = {}
    for name in dir(type(found)):
        if name.startswith("_") or not isinstance(getattr(type(found), name), property):
            continue
        value = getattr(found, name)
        if isinstance(value, str):
            said[name] = value
        elif isinstance(value, Caption):
            said[f"{name}.text"], said[f"{name}.alt"] = value.text, value.alt
    return said


def check_texts(texts: Iterable[str]) -> None:
    """Ask of all sentences what can be asked of any: plain, whole, and no number missing."""
    for text in texts:
        plain(text, "a sentence")
        assert text[0].isupper() or text[0] in "*-[#$", text
        assert text.rstrip("*").endswith((".", "!", "?", ")", ":")), text
        assert not re.search(r"\b(nan|inf|True|False|None(?! of))\b|  |\.\.|\d\.\d{7,}", text), text
        assert text.count("$") % 2 == 0, text
        assert not re.search(r"(?<![\w.,×])\d{5,}(?![\d.])", text), f"thousands together: {text}"


def numbers(text: str) -> list[float]:
    """Return the numbers that stand in a text, in their order; "±" separates two."""
    found = []
    for match in _NUMBER.findall(_BARE_POWER.sub("1 × 10", text)):
        mantissa, _, power = match.replace("−", "-").replace(",", "").partition(" × 10")
        found.append(float(f"{mantissa}e{power.translate(_SUPERSCRIPTS) or 0}"))
    return found


def says(text: str, value: float, rel: float = 6e-3) -> bool:
    """Say whether a text has a number that is this value, up to how it is rounded."""
    return any(math.isclose(n, value, rel_tol=rel, abs_tol=1e-12) for n in numbers(text))
