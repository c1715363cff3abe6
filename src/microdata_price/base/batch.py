"""Batches: values whose arrays have runs along their first axis, and how to select some of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

Runs = slice | NDArray[np.intp] | NDArray[np.bool_]


def _selected(value: Any, runs: Runs, shared: bool) -> Any:
    if isinstance(value, np.ndarray):
        return value if shared and value.shape[0] == 1 else value[runs]
    if isinstance(value, tuple):
        return tuple(_selected(v, runs, shared) for v in value)
    return None if value is None else value.select(runs)


def _put(value: Any, runs: Runs, other: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_put(v, runs, o) for v, o in zip(value, other, strict=True))
    value = value.copy()
    value[runs] = other
    return value


class Batch:
    """A dataclass that names those of its fields that have runs along their first axis.

    Such a field is an array, something with a ``select`` of its own, a tuple of either, or
    ``None``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Answers(Batch):
    ...     by_run = ("noisy",)
    ...     name: str
    ...     noisy: NDArray[np.float64]
    >>> Answers("sum", np.array([3.0, 5.0, 4.0])).select(np.array([2, 0]))
    Answers(name='sum', noisy=array([4., 3.]))
    """

    by_run: ClassVar[tuple[str, ...]] = ()  # fields with a row for every run
    by_run_or_shared: ClassVar[tuple[str, ...]] = ()  # or with a single row for all of them

    def select(self, runs: Runs) -> Self:
        """Return the batch of some of the runs; what was checked of all is not checked again."""
        some = object.__new__(type(self))  # the solvers do this every step: no time for __init__
        mine, parts = vars(self), vars(some)
        for name in type(self).__dataclass_fields__:  # type: ignore[attr-defined]
            part = mine[name]
            if name in self.by_run or name in self.by_run_or_shared:
                part = _selected(part, runs, name in self.by_run_or_shared)
            parts[name] = part
        return some

    def replace_runs(self, runs: Runs, other: Self) -> Self:
        """Return this batch with some runs taken from another, which has only those."""
        parts = {n: _put(getattr(self, n), runs, getattr(other, n)) for n in self.by_run}
        return replace(self, **parts)  # type: ignore[type-var]
