"""What the suite asks of itself, so that no test depends on which others are run or when."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = sorted(Path(__file__).parent.rglob("*.py"))
# Profiles of hypothesis are registered and loaded once, for all; so are OpenDP's features.
SETTERS = {"register_profile", "load_profile", "enable_features"}


def changes(source: str) -> list[str]:
    """Return the statements that set something of an imported module when a file is imported."""
    found = []
    for node in ast.parse(source).body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            targets = [node.target]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            targets = [node.value.func]
        for target in targets:
            if isinstance(target, (ast.Attribute, ast.Subscript)):
                found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("path", TESTS, ids=lambda p: p.stem)
def test_no_file_of_tests_changes_a_library_when_it_is_imported(path: Path) -> None:
    """All files are imported before the first test runs: the last to set a value would win."""
    found = [s for s in changes(path.read_text(encoding="utf-8")) if not SETTERS & set(_names(s))]
    assert found == []


def _names(source: str) -> list[str]:
    return [n.attr for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Attribute)]


@pytest.mark.parametrize(
    "source", ["mp.mp.dps = 40", "np.random.seed(1)", "os.environ['A'] = ''", "lib.rate *= 2"]
)
def test_such_changes_are_seen(source: str) -> None:
    assert changes(source) == [source]
