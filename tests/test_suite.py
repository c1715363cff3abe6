"""Limits of the code and the suite: lines of each room, and no test that depends on others."""

import ast
from pathlib import Path

import pytest

# Lines of Python at most, docstrings and blank lines included. Caps only fall: where a room shrinks
# its cap follows, and what moves to another room takes its lines along.
CAPS = {
    "base exceptions.py __init__.py __main__.py": 750,
    "model": 1_750,
    "optimize": 3_700,
    "fitting": 1_450,
    "errors grid": 1_500,
    "theory": 5_700,
    "tables": 900,
    "release": 1_400,
    "price": 500,
    "chapters": 4_940,
    "figures": 2_570,
    "book page explorer": 2_700,
    "commands cli.py": 850,
}
ALL_ROOMS, ALL_TESTS = 28_700, 14_000
PACKAGE = Path(__file__).parents[1] / "src" / "microdata_price"

TESTS = sorted(Path(__file__).parent.rglob("*.py"))
# Profiles of hypothesis are registered and loaded once, for all; so are OpenDP's features.
SETTERS = {"register_profile", "load_profile", "enable_features"}


def lines(*places):
    files = [f for p in places for f in (p.rglob("*.py") if p.is_dir() else [p])]
    return sum(f.read_bytes().count(b"\n") for f in files)


@pytest.mark.parametrize("rooms", CAPS)
def test_no_room_grows_beyond_its_cap(rooms):
    found = lines(*(PACKAGE / name for name in rooms.split()))
    assert found <= CAPS[rooms], f"{rooms}: {found} lines"


def test_the_whole_stays_small_and_every_room_has_a_cap():
    assert {n for rooms in CAPS for n in rooms.split()} == {
        p.name for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()
    }
    assert lines(PACKAGE) <= ALL_ROOMS
    assert lines(Path(__file__).parent) <= ALL_TESTS


def changes(source):
    """Return the statements that set something of an imported module when a file is imported."""
    found = []
    for node in ast.parse(source).body:
        targets = []
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
def test_no_file_of_tests_changes_a_library_when_it_is_imported(path):
    """All files are imported before the first test runs: the last to set a value would win."""
    found = [s for s in changes(path.read_text(encoding="utf-8")) if not SETTERS & set(_names(s))]
    assert found == []


def _names(source):
    return [n.attr for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Attribute)]


@pytest.mark.parametrize(
    "source", ["mp.mp.dps = 40", "np.random.seed(1)", "os.environ['A'] = ''", "lib.rate *= 2"]
)
def test_such_changes_are_seen(source):
    assert changes(source) == [source]
