"""Levels at which every text of the book must hold, and what any text must be like."""

import json
import math
import re
from pathlib import Path

from microdata_price.page.output import plain
from microdata_price.page.say import MAGIC, perform

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
EPSILONS = (0.5, 0.05, 3.0, 10.0)
RHOS = (0.125, 0.00125, 4.5, 50.0)
DELTAS = (1e-6, 1e-12, 1e-3)
LEVELS = [
    {"epsilon": 0.5, "rho": 0.125, "delta": 1e-6, "d": 1000},
    {"epsilon": 3.0, "rho": 4.5, "delta": 1e-3, "d": 2},
    {"epsilon": 0.05, "rho": 0.00125, "delta": 1e-12, "d": 10**5},
    {"epsilon": 10.0, "rho": 0.00125, "delta": 1e-12, "d": 10**5},
]
_NUMBER = re.compile(r"[−-]?\d[\d,]*(?:\.\d+)?(?: × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?")
_BARE_POWER = re.compile(r"(?<!× )(?<![\d.,])10(?=[⁻⁰¹²³⁴⁵⁶⁷⁸⁹])")
# Texts that start so have simulated numbers, which carry standard errors.
SAMPLED = r"The highest price|The price of the sum|The worst cell of|The full cell|The benchmark"
SAMPLED += r"|The consensus fit|Averaged over|On `PUMA|On tables that|Total squared|In \d+ of"
SAMPLED += r"|By itself|Red is|Median price|Where all cells|What each theorem|All \d+ experiments"
SAMPLED += r"|The share of|Spearman's rank|On the sum the median|Over all tables"
# What reads oddly, or is false, where a number is 0 or 1, below 0, few or the same as another.
_COUNTED = "people|records|cells|streets|answers|runs|tables|rows|columns|levels|times"
_ODD = r"\bby – |(at least|less than|a \$C\$ of) 0(?![.\d])|\bthe 0 [a-z]|\b0 of [\d,]+ answers|"
_ODD += r"up to 0\b(?![.\d])|\b(gain|lose)s? −|\bten of \d\b(?!,)|"
_ODD += r"(?P<same>\d\S+), in place of (?P=same)\b|"
_ODD += rf"(?<![\d.,−/-])(?<!- )1\$? ({_COUNTED})\b"
_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def cases(**choices):
    """Return as many cases as the longest choices has values; each value stands in one of them."""
    many = range(max(map(len, choices.values())))
    return [{name: values[k % len(values)] for name, values in choices.items()} for k in many]


def texts(notebook, **parameters):
    """Run a notebook's code in this process, at other parameters, and return all its texts."""
    names, said = {}, []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and MAGIC.match(source):
            said.append(perform(source, names))
        elif cell["cell_type"] == "code":
            exec(compile(re.sub(r"(?m)^%.*$", "", source), notebook.name, "exec"), names)
            if "parameters" in cell["metadata"].get("tags", []):
                assert {*parameters} <= {*names}, f"{notebook.name} lacks a parameter"
                names |= parameters
    return said


def filled(name, **levels):
    """Run a notebook's code in this process, check all its texts and return them."""
    said = texts(NOTEBOOKS / f"{name}.ipynb", **levels)
    assert said
    check(said)
    return said


def check(said):
    """Ask of texts what can be asked of any: plain, whole, and no number missing."""
    for text in (part for whole in said for part in whole.split("\nALT: ")):
        # How far marks lie apart, and which is on which side, changes with the level.
        assert not re.search(r"\b(far to|closer to|nearly every)", text), text
        plain(text, "a text")
        assert text[0].isupper() or text[0] in "*-[#$|" or text[0].isdigit(), text
        assert text.rstrip("*").endswith((".", "!", "?", ")", ":", "$", "|")), text
        assert not re.search(r"\b(nan|inf|True|False|None(?! of))\b|  |\.\.|\d\.\d{7,}", text), text
        assert not re.search(_ODD, text), f"nothing told, or oddly: {text}"
        assert text.count("$") % 2 == 0, text
        assert re.search("±|tandard error", text) or not re.match(SAMPLED, text.lstrip("*")), text
        assert not re.search(r"(?<![\w.,×])\d{5,}(?![\d.])", text), f"thousands together: {text}"


def numbers(text):
    """Return the numbers that stand in a text, in their order; "±" separates two."""
    found = []
    for match in _NUMBER.findall(_BARE_POWER.sub("1 × 10", text)):
        mantissa, _, power = match.replace("−", "-").replace(",", "").partition(" × 10")
        found.append(float(f"{mantissa}e{power.translate(_SUPERSCRIPTS) or 0}"))
    return found


def says(text, value, rel=0.006):
    """Say whether a text has a number that is this value, up to how it is rounded."""
    return any(math.isclose(n, value, rel_tol=rel, abs_tol=1e-12) for n in numbers(text))
