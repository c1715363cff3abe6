"""Mutation tests: break a room's functions in one place after another; do its tests notice?

A single change is an operator, a number, a condition or a call left out; never words, and never
what the code only asserts of itself. A seeded sample of them is made in memory: the room's tests
and docstring examples run once as they are; then for each change a child process gives the living
function its new code and runs the tests that call it, fastest first, until one fails. Tests that
start processes of their own see the code unchanged, so the share that is killed is at least what is
printed. What is found goes to mutants.csv with the commit, also after Ctrl-C; a reason typed there
for a survivor stays as long as that change does.

Own code: mutmut 3.8 and cosmic-ray 8.7 draw no sample, and a whole room takes days. mutmut renames
every function, which tests that read sources or names notice; cosmic-ray starts Python and all of
a room's tests anew for each mutant, in the checkout itself.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import _lru_cache_wrapper, cached_property
from pathlib import Path
from types import CodeType, FrameType, FunctionType

import click
import pandas as pd
import pytest
from scipy.stats import binomtest

from microdata_price.base.files import write_whole

from .checks import keep

ROOMS = ("model", "optimize", "fitting", "theory", "release")
ROOT = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).with_name("mutants.csv")
# Tests of a room's files that stand with what they are for.
ALSO = {
    "model": ("tests/theory/upper/test_asymmetric.py",),
    "optimize": ("tests/fitting",),
    "theory": ("tests/commands/test_bounds.py", "tests/chapters/test_proofs.py"),
}

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
_SKIPPED |= {"defaults", "kw_defaults"}  # which are no part of a function's code


def _walk(node: ast.AST, name: str = "", function: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Visit the nodes that may change, each with the outermost function that holds it, if any."""
    yield node, function
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if field in _SKIPPED or not isinstance(child, ast.AST) or _asserts(child):
                continue
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)) and not function:
                inner = f"{name}.{child.name}" if name else child.name
                yield from _walk(child, inner, "" if isinstance(child, ast.ClassDef) else inner)
            else:
                yield from _walk(child, name, function)


def _asserts(node: ast.AST) -> bool:
    """Return whether code only checks itself: an assertion, or that zip's sides are as long."""
    if isinstance(node, ast.keyword):
        return node.arg == "strict"
    return isinstance(node, ast.Assert)


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


def mutants(room: str) -> Iterator[dict[str, object]]:
    """Yield each single change inside a room's functions: its place, its text, what it changes."""
    for path in sorted((ROOT / "src" / "microdata_price" / room).rglob("*.py")):
        tree = ast.parse(path.read_text())
        for node, function in _walk(tree):
            for change in _changes(node) if function else ():
                place = {"file": str(path.relative_to(ROOT)), "line": node.lineno}
                yield {"room": room, **place, "function": function, "change": (tree, node, change)}


def _text(node: ast.AST) -> str:
    return ast.unparse(node).split("\n")[0]


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield all functions compiled within a module's code."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _apply(mutant: dict[str, object]) -> None:
    """Give living functions their changed code."""
    path = str(ROOT / str(mutant["file"]))
    tree, node, change = mutant["change"]
    vars(node).update(change)
    module = compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)
    new = {(c.co_qualname, c.co_firstlineno): c for c in _codes(module)}
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename == path:
            thing.__code__ = new[thing.__code__.co_qualname, thing.__code__.co_firstlineno]


def _forget() -> None:
    """Forget what the package and the tests have computed and kept."""
    for thing in gc.get_objects():
        if isinstance(thing, _lru_cache_wrapper):
            thing.cache_clear()
        elif str(type(thing).__module__).startswith("microdata_price."):
            for name in [n for n in getattr(thing, "__dict__", ()) if _is_cached(thing, n)]:
                del thing.__dict__[name]


def _is_cached(thing: object, name: str) -> bool:
    return isinstance(getattr(type(thing), name, None), cached_property)


class Session:
    """Runs the tests once as they are, then in a child process for each mutant."""

    def __init__(self, room: str, number: int, seed: int, out: int) -> None:
        self.prefix = str(ROOT / "src" / "microdata_price" / room)
        self.every = list(mutants(room))
        whole = not 0 < number < len(self.every)
        self.some = self.every if whole else random.Random(seed).sample(self.every, number)
        self.out, self.seconds, self.reached = out, {}, {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.good = self.good and report.passed

    def _passes(self, item: pytest.Item) -> bool:
        self.good = True
        if isinstance(item, pytest.DoctestItem):
            kept = dict(item.dtest.globs)  # an example clears them
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        if isinstance(item, pytest.DoctestItem):
            item.dtest.globs = kept
        return self.good

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for item in session.items:
            self._note(item)
        self._say(f"{len(self.seconds)} tests; {len(self.some)} of {len(self.every)} mutants")
        for mutant in self.some:
            _, node, change = mutant["change"]
            texts = _text(node), _text(type(node)(**(dict(vars(node)) | change)))
            mutant |= {"before": texts[0], "after": texts[1]}
            mutant["outcome"] = self._outcome(mutant, session.items)
            self._say("{outcome} {file}:{line} {before} -> {after}".format(**mutant))
        return True

    def _say(self, text: str) -> None:
        os.write(self.out, f"{text}\n".encode())

    def _note(self, item: pytest.Item) -> None:
        """Note a passing test's time and the functions of the room that it calls."""
        seen: set[tuple[str, str]] = set()

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == "call" and frame.f_code.co_filename.startswith(self.prefix):
                seen.add((frame.f_code.co_filename, frame.f_code.co_qualname.split(".<locals>")[0]))

        _forget()  # else only the first test of several would call what is kept
        start = time.perf_counter()
        sys.settrace(note)
        good = self._passes(item)
        sys.settrace(None)
        if good:
            self.seconds[item], self.reached[item] = time.perf_counter() - start, seen

    def _outcome(self, mutant: dict[str, object], items: list[pytest.Item]) -> str:
        """Run the tests that reach a change, fastest first, in a child process."""
        place = str(ROOT / str(mutant["file"])), mutant["function"]
        chosen = [i for i in items if place in self.reached.get(i, ())]
        child = os.fork()
        if child == 0:
            status = 2
            with contextlib.suppress(BaseException):
                _apply(mutant)
                _forget()
                status = 1
                for item in sorted(chosen, key=self.seconds.__getitem__):
                    # A test that takes many times as long as it did is ended by a signal.
                    signal.setitimer(signal.ITIMER_PROF, 20 + 10 * self.seconds[item])
                    signal.setitimer(signal.ITIMER_REAL, 120 + 60 * self.seconds[item])
                    if not self._passes(item):
                        break
                else:
                    status = 0
            os._exit(status)
        status = os.waitpid(child, 0)[1]
        return {0: "survived", 2 << 8: "not applied"}.get(status, "killed")


@click.command()
@click.argument("room", type=click.Choice(ROOMS))
@click.option("--number", default=80, show_default=True, help="Of mutants; 0 for all.")
@click.option("--seed", default=1, show_default=True, help="Of the sample.")
def main(room: str, number: int, seed: int) -> None:
    """Break ROOM's code in one place after another, and count what its tests notice."""
    asked = ["git", "log", "-1", "--format=%h", "--", "src", "tests"]
    commit = subprocess.check_output(asked, text=True, cwd=ROOT).strip()
    made = Session(room, number, seed, os.dup(1))
    places = [f"src/microdata_price/{room}", f"tests/{room}", *ALSO.get(room, ())]
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        pytest.main([*places, "-pno:cacheprovider"], [made])
    tried = [m for m in made.some if m.get("outcome") in ("killed", "survived")]
    if not tried:
        raise click.ClickException("stopped before the first mutant; nothing is kept")
    found = pd.DataFrame(tried).drop(columns="change")
    _keep(found.assign(possible=len(made.every), commit=commit))


def counts(found: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Return how many mutants of each room were tried, and how many killed."""
    killed = (found["outcome"] == "killed").groupby(found["room"])
    return {room: (len(each), int(each.sum())) for room, each in killed}


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
    text = found.sort_values(["room", "file", "line"]).to_csv(index=False)
    write_whole(RECORD, text.encode())
    keep("mutants", counts(found))
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
