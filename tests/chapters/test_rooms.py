"""Chapters compute and do not write: no file of theirs holds a sentence."""

import ast
from pathlib import Path

import pytest

import microdata_price.chapters

FILES = sorted(Path(microdata_price.chapters.__file__).parent.glob("*.py"))
MOST_WORDS = 8


def sentences(source):
    """Return the strings of more than eight words that are no docstring."""
    tree = ast.parse(source)
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in documents
        and len(node.value.split()) > MOST_WORDS
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_chapter_s_file_holds_no_prose(path):
    assert sentences(path.read_text(encoding="utf-8")) == []


def test_prose_is_seen():
    assert sentences("'''Doc of a file, which may be as long as it has to be.'''") == []
    assert len(sentences("x = 'one two three four five six seven eight nine'")) == 1
