"""No sentence calls a number that is rounded to the nearest a least or a greatest one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import microdata_price

SOURCES = Path(microdata_price.__file__).parent
SAYING = [*sorted((SOURCES / "studies").glob("*.py")), *sorted((SOURCES / "explorer").glob("*.py"))]
EXTREME = re.compile(
    r"(at (least|most)|no (more|less|fewer) than|never (above|below)"
    r"|(?<!add )(?<!adds )(?<!on )up to)\s*\$?$"
)


def nearest(text: str) -> list[str]:
    """What is written to the nearest right after words that ask for rounding outward."""
    found = []
    for node in ast.walk(ast.parse(text)):
        before = ""
        for part in node.values if isinstance(node, ast.JoinedStr) else []:
            if isinstance(part, ast.FormattedValue):
                shown = ast.unparse(part.value)
                rounded = shown.startswith("format_number(") or ".2f" in ast.unparse(part)
                if rounded and EXTREME.search(before):
                    found.append(f"{before[-30:]}{{{shown}}}")
                before += "{}"
            elif isinstance(part, ast.Constant):
                before += str(part.value)
    return found


def test_the_kind_is_found() -> None:
    assert nearest('f"It is at most {format_number(x)} here."')
    assert nearest('f"It is up to " f"{x:.2f}."')
    assert not nearest('f"It is at most {at_most(x)}; they add up to {format_number(x)}."')


@pytest.mark.parametrize("path", SAYING, ids=lambda p: p.stem)
def test_extremes_are_rounded_outward(path: Path) -> None:
    assert nearest(path.read_text(encoding="utf-8")) == []
