"""The sheet "What was tried": every row is held by a test, and every such test has its row."""

from __future__ import annotations

import ast
import re

import pytest

from tiny_book import ROOT

SHEET = (ROOT / "book" / "reference" / "what_was_tried.md").read_text(encoding="utf-8")
ROWS = [
    line
    for line in SHEET.splitlines()
    if line.startswith("| ") and not line.startswith("| What is brought")
]
TEST = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def names_of_tests(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return {n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.name[:5] == "test_"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: TEST.search(row + "`a.py::test_none`")[2])
def test_every_row_names_a_kind_an_answer_and_a_test_that_exists(row: str) -> None:
    kind, answer, held = row.strip("| ").split(" | ")
    assert kind
    assert answer
    named = TEST.findall(held)
    assert named
    assert TEST.sub("", held).strip(", ") == ""
    for file, test in named:
        assert test in names_of_tests(file)


@pytest.mark.parametrize("file", ["book/test_own_notebooks.py"])
def test_every_kind_that_is_tested_has_a_row(file: str) -> None:
    listed = {test for place, test in TEST.findall(SHEET) if place == file}
    assert listed == names_of_tests(file)
