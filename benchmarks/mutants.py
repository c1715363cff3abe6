"""Mutation tests: break a room's code in one place after another; do its tests notice?

A seeded sample of all single changes (an operator, a number, a condition, a call left out; never
words) is made in a copy of the last commit. For each, the room's tests and docstring examples that
reach the changed function run, fastest first, until one fails. What is found goes to mutants.csv
with the commit; a reason typed there for a survivor stays as long as that change does.

Own code: mutmut 3.8 and cosmic-ray 8.7 draw no sample, and a whole room takes days. mutmut renames
every function, which tests that read sources or names notice; cosmic-ray starts Python and all of
a room's tests anew for each mutant, in the checkout itself.
"""

from __future__ import annotations

import ast
import importlib
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import click
import pandas as pd
import pytest
from scipy.stats import binomtest

ROOMS = ("model", "optimize", "fitting", "theory", "release")
RECORD = Path(__file__).with_name("mutants.csv")
# Tests of checksums and lengths notice any change, and say nothing of what it does.
LEFT_OUT = ("tests/release/test_trusted_core.py",)
LOADED_ONCE = ("scipy.stats", "scipy.sparse.csgraph", "cvxpy", "clarabel", "opendp")

_OPERATORS: tuple[tuple[type, type], ...] = (
    *((ast.Add, ast.Sub), (ast.Sub, ast.Add), (ast.Mult, ast.Div), (ast.Div, ast.Mult)),
    *((ast.Pow, ast.Mult), (ast.FloorDiv, ast.Mult), (ast.Mod, ast.Mult), (ast.And, ast.Or)),
    *((ast.Or, ast.And), (ast.BitAnd, ast.BitOr), (ast.BitOr, ast.BitAnd), (ast.USub, ast.UAdd)),
    *((ast.Lt, ast.LtE), (ast.LtE, ast.Lt), (ast.Gt, ast.GtE), (ast.GtE, ast.Gt)),
    *((ast.Eq, ast.NotEq), (ast.NotEq, ast.Eq), (ast.Is, ast.IsNot), (ast.IsNot, ast.Is)),
    *((ast.In, ast.NotIn), (ast.NotIn, ast.In)),
)
_SWAPPED = dict(_OPERATORS)
_PAIRS = (("min", "max"), ("minimum", "maximum"), ("floor", "ceil"), ("any", "all"))
_NAMES = dict([*_PAIRS, *((b, a) for a, b in _PAIRS)])
_CONDITIONS = (ast.If, ast.IfExp, ast.While)
_SKIPPED = {"annotation", "returns", "decorator_list", "exc", "bases", "format_spec"}


def _walk(node: ast.AST, name: str = "", function: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Visit the nodes that may change, each with the name of the function that holds it, if any."""
    yield node, function
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if field in _SKIPPED or isinstance(child, ast.Assert) or not isinstance(child, ast.AST):
                continue
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                within = f"{name}.<locals>." if name == function else f"{name}."
                inner = (within if name else "") + child.name
                yield from _walk(child, inner, "" if isinstance(child, ast.ClassDef) else inner)
            else:
                yield from _walk(child, name, function)


def _changes(node: ast.AST) -> Iterator[dict[str, object]]:
    """Yield what a node's fields may become."""
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp, ast.UnaryOp)):
        if type(node.op) in _SWAPPED:
            yield {"op": _SWAPPED[type(node.op)]()}
    elif isinstance(node, ast.Compare):
        yield {"ops": [_SWAPPED[type(node.ops[0])](), *node.ops[1:]]}
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield {"value": not node.value}
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield {"value": node.value + 1}
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
        field = "id" if isinstance(node.func, ast.Name) else "attr"
        if new := _NAMES.get(getattr(node.func, field)):
            keep = {"id": new} if field == "id" else {"value": node.func.value, "attr": new}
            yield {"func": type(node.func)(**keep, ctx=ast.Load())}
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield {"value": ast.Constant(None)}
    elif isinstance(node, _CONDITIONS) and isinstance(node.test, (ast.Name, ast.Call)):
        yield {"test": ast.UnaryOp(ast.Not(), node.test)}
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield {"operand": ast.UnaryOp(ast.Not(), node.operand)}


def mutants(root: Path, room: str) -> Iterator[dict[str, object]]:
    """Yield every single change of a room: its place, the text before and after, the new source."""
    for path in sorted((root / "src" / "microdata_price" / room).rglob("*.py")):
        tree = ast.parse(path.read_text())
        for node, function in _walk(tree):
            for change in _changes(node):
                before, line, old = ast.unparse(node), getattr(node, "lineno", 0), dict(vars(node))
                vars(node).update(change)
                after, source = ast.unparse(node), ast.unparse(tree)
                vars(node).update(old)
                file = str(path.relative_to(root))
                place = {"file": file, "line": line, "function": function}
                texts = {"before": before.split("\n")[0], "after": after.split("\n")[0]}
                yield {"room": room, **place, **texts, "source": source}


class Reached:
    """Notes each passing test's seconds and the room's functions that it calls."""

    def __init__(self, prefix: str) -> None:
        self.prefix, self.tests = prefix, {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        seen: set[tuple[str, str]] = set()

        def note(frame, event, _):
            if event == "call" and frame.f_code.co_filename.startswith(self.prefix):
                seen.add((frame.f_code.co_filename, frame.f_code.co_qualname))

        self.good, start = True, time.perf_counter()
        sys.setprofile(note)
        yield
        sys.setprofile(None)
        if self.good:
            self.tests[item.nodeid] = time.perf_counter() - start, seen

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.good = self.good and report.passed


class Chosen:
    """Runs some tests, fastest first, and ends where one takes many times as long as it did."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.seconds), key=self._order)

    def _order(self, item: pytest.Item) -> float:
        return self.seconds[item.nodeid]

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        signal.setitimer(signal.ITIMER_PROF, 20 + 10 * self._order(item))
        signal.setitimer(signal.ITIMER_REAL, 120 + 60 * self._order(item))


def _forked(root: Path, arguments: list[str], plugin: object, keep: Path | None = None) -> int:
    """Run pytest in a child process that need not load the libraries again; return its status."""
    child = os.fork()
    if child == 0:
        status = 3
        try:
            os.chdir(root)
            os.environ["PYTHONPATH"] = sys.path[0] = str(root / "src")
            sys.dont_write_bytecode = keep is None
            log = os.open(root / "pytest.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            stop = ["-x"] if keep is None else []
            status = pytest.main([*arguments, *stop, "-pno:cacheprovider"], [plugin])
            if keep is not None:
                keep.write_bytes(pickle.dumps(plugin.tests))
        except BaseException:
            traceback.print_exc()
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def survives(root: Path, mutant: dict[str, object], tests: dict) -> bool:
    """Return whether no test notices a change; one that never ends, or cannot load, does."""
    path = root / str(mutant["file"])
    place = str(path), mutant["function"]
    everywhere = not mutant["function"]  # such as a constant
    # A test that reaches no function here may start a process of its own that does.
    chosen = {n: s for n, (s, seen) in tests.items() if everywhere or place in seen or not seen}
    original = path.read_text()
    path.write_text(str(mutant["source"]))
    try:
        files = sorted({name.split("::")[0] for name in chosen})
        status = _forked(root, files, Chosen(chosen))
    finally:
        path.write_text(original)
    if status not in (0, 1, 2) and status >= 0:
        raise RuntimeError(f"pytest ended with status {status} on {mutant['file']}")
    return status == 0


@click.command()
@click.argument("room", type=click.Choice(ROOMS))
@click.option("--number", default=80, show_default=True, help="Of mutants; 0 for all.")
@click.option("--seed", default=1, show_default=True, help="Of the sample.")
def main(room: str, number: int, seed: int) -> None:
    """Break ROOM's code in one place after another, and count what its tests notice."""
    for name in LOADED_ONCE:
        importlib.import_module(name)
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        archive = subprocess.run(["git", "archive", "HEAD"], check=True, capture_output=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        own = [f"src/microdata_price/{room}", f"tests/{room}"]
        arguments = [*own, *(f"--deselect={name}" for name in LEFT_OUT)]
        noted = root / "tests.pickle"
        _forked(root, arguments, Reached(str(root / own[0])), noted)
        tests = pickle.loads(noted.read_bytes())
        every = list(mutants(root, room))
        some = random.Random(seed).sample(every, number) if 0 < number < len(every) else every
        click.echo(f"{len(tests)} tests that pass as it is; {len(some)} of {len(every)} mutants")
        for mutant in some:
            mutant["outcome"] = "survived" if survives(root, mutant, tests) else "killed"
            place = f"{mutant['file']}:{mutant['line']} {mutant['before']} -> {mutant['after']}"
            click.echo(f"{mutant['outcome']} {place}")
    _keep(pd.DataFrame(some).drop(columns="source").assign(possible=len(every), commit=commit))


def _keep(found: pd.DataFrame) -> None:
    """Put a room's mutants into the record, and print how many were killed."""
    room, change = found["room"].iloc[0], ["file", "function", "before", "after"]
    found = found.assign(reason="")
    if RECORD.exists():
        old = pd.read_csv(RECORD, keep_default_na=False)
        reasons = old[old["reason"] != ""].drop_duplicates(change).set_index(change)["reason"]
        places = pd.MultiIndex.from_frame(found[change])
        found["reason"] = [reasons.get(p, "") for p in places]
        found.loc[found["outcome"] == "killed", "reason"] = ""
        found = pd.concat([old[old["room"] != room], found])
    found.sort_values(["room", "file", "line"]).to_csv(RECORD, index=False)
    mine = found[found["room"] == room]
    killed = int((mine["outcome"] == "killed").sum())
    low, high = binomtest(killed, len(mine)).proportion_ci(method="exact")
    click.echo(
        f"{room}: {killed} of {len(mine)} killed, {killed / len(mine):.0%} "
        f"(95 % interval {low:.0%} to {high:.0%}); {mine['reason'].ne('').sum()} of the others "
        "are harmless for a reason given"
    )


if __name__ == "__main__":
    main()
