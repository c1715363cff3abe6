"""Chapters compute and do not write: no file of theirs holds a sentence."""

import ast
from pathlib import Path

import pytest

import microdata_price.chapters

FILES = sorted(Path(microdata_price.chapters.__file__).parent.glob("*.py"))
MOST_WORDS = 8


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_chapter_s_file_holds_no_prose(path):
    """No string of more than eight words that is no docstring."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    documents = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [n for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    assert texts
    found = [n.value for n in texts if id(n) not in documents]
    assert [text for text in found if len(text.split()) > MOST_WORDS] == []
