r"""Lists and two-way tables: how their aggregates act, and their Newton systems.

With multipliers u of the rows and v of the columns of an r x c table, the Newton matrix of
`dual_newton` has two diagonal blocks, coupled by the table P of the free cells' 1/d itself:

.. math::

    \begin{pmatrix} \mathrm{diag}(P \mathbf 1) + Q_u & P \\
    P' & \mathrm{diag}(P' \mathbf 1) + Q_v \end{pmatrix}
    \begin{pmatrix} u \\ v \end{pmatrix} = \begin{pmatrix} F_u \\ F_v \end{pmatrix} .

With C for the diagonal block of the columns, the longer side, v is eliminated (`eliminate`):

.. math::

    \bigl(\mathrm{diag}(P \mathbf 1) + Q_u - P C^{-1} P'\bigr) u = F_u - P C^{-1} F_v, \qquad
    v = C^{-1} (F_v - P' u),

a dense system as large as the shorter side. The sum of all cells and sums of some queries join the
rows as further entries of u, each with a row and a column of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.batch import Batch
from .eliminate import regular, solve_bordered, solve_small
from .problem import Problem, SubsetSum
from .tuning import TUNING

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Extra(Batch):
    """One aggregate that is neither a row nor a column: which rows, columns or cells it counts."""

    by_run_or_shared = ("members",)

    kind: str  # what is counted: "rows", "columns" or "cells"
    # 1 for what is counted, else 0; shape (runs or 1, rows, columns or cells); ``None`` for all.
    members: Array | None

    def times(self, a: Array) -> Array:
        """Return ``a`` (runs, items) where the item is counted, else 0."""
        return a if self.members is None else self.members * a

    def dot(self, a: Array) -> Array:
        """Return the sum of ``a`` (runs, items) over the items counted, shape (runs, 1)."""
        if self.members is None:
            return np.asarray(a.sum(axis=1, keepdims=True))
        if self.members.shape[0] == 1:
            return np.asarray(a @ self.members[0][:, None])
        return np.asarray(np.einsum("bi,bi->b", self.members, a)[:, None])


@dataclass(frozen=True, eq=False)
class TwoWay(Batch):
    """The aggregates of an r x c table, r <= c: rows, single sums ("extras"), columns, in order.

    A list is a table of one row without a query for it.
    """

    by_run = ("extras",)

    shape: tuple[int, int]  # rows and columns
    rows: bool  # whether there is a query for each
    columns: bool
    extras: tuple[Extra, ...]  # the other aggregates

    @property
    def _row_end(self) -> int:
        return self.shape[0] if self.rows else 0

    @property
    def _kept(self) -> int:
        return self._row_end + len(self.extras)

    def rmatvec(self, y: Array) -> Array:
        """Return U'y, shape (runs, cells), or (runs, 1) where it is the same for all cells."""
        r, c = self.shape
        by_row: Array = y[:, : self._row_end] if self.rows else np.zeros((y.shape[0], 1))
        by_column: Array = y[:, self._kept :] if self.columns else np.zeros((y.shape[0], 1))
        by_cell: Array | None = None
        for k, extra in enumerate(self.extras, self._row_end):
            part = extra.times(y[:, k : k + 1])
            if extra.kind == "rows":
                by_row = by_row + part
            elif extra.kind == "columns":
                by_column = by_column + part
            else:
                by_cell = part if by_cell is None else by_cell + part
        if by_column.shape[1] == 1 and by_row.shape[1] == 1:
            flat = by_row + by_column
        else:
            table = by_row[:, :, None] + by_column[:, None, :]
            if table.shape[1:] != self.shape:
                table = np.broadcast_to(table, (y.shape[0], r, c))
            flat = table.reshape(y.shape[0], r * c)
        return flat if by_cell is None else flat + by_cell

    def matvec(self, x: Array) -> Array:
        """Return Ux, shape (runs, aggregates)."""
        r, c = self.shape
        runs = x.shape[0]
        table = x.reshape(runs, r, c)
        row_sums = x.sum(axis=1, keepdims=True) if r == 1 else table @ np.ones(c)
        parts = [row_sums] if self.rows else []
        column_sums = np.ones(r) @ table if self._needs_columns else None
        for extra in self.extras:
            items = {"rows": row_sums, "columns": column_sums, "cells": x}[extra.kind]
            assert items is not None
            parts.append(extra.dot(items))
        if self.columns:
            assert column_sums is not None
            parts.append(column_sums)
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def largest(self, x: Array) -> Array:
        """Return the largest entry of x among each aggregate's cells, shape (runs, aggregates)."""
        table = x.reshape(len(x), *self.shape)
        by_row, by_column = table.max(axis=2), table.max(axis=1)
        items = {"rows": by_row, "columns": by_column, "cells": x}
        parts = [by_row] if self.rows else []
        for extra in self.extras:
            one = items[extra.kind]
            if extra.members is not None:
                one = np.where(extra.members > 0, one, -np.inf)
            parts.append(one.max(axis=1, keepdims=True))
        if self.columns:
            parts.append(by_column)
        return np.concatenate(parts, axis=1)

    @property
    def _needs_columns(self) -> bool:
        return self.columns or any(e.kind == "columns" for e in self.extras)

    def solve(self, free: Array, inverse_weight: Array, residual: Array, ridge: Array) -> Array:
        """Solve the Newton system; see `Structure`."""
        runs = free.shape[0]
        r, c = self.shape
        m, k = self._row_end, self._kept
        need = self._needs_columns
        table = free.reshape(runs, r, c)
        row_sums = free.sum(axis=1, keepdims=True) if r == 1 else table @ np.ones(c)
        column_sums = np.ones(r) @ table if need else np.zeros((runs, 0))
        # For each extra aggregate: what it counts of each row and of each column.
        by_rows: list[Array] = []
        by_columns: list[Array] = []
        for extra in self.extras:
            v = extra.members
            if extra.kind == "rows":
                by_rows.append(extra.times(row_sums))
                by_columns.append(
                    column_sums if v is None or not need else (v[:, None] @ table)[:, 0]
                )
            elif extra.kind == "columns":
                by_rows.append(row_sums if v is None else (table @ v[:, :, None])[:, :, 0])
                by_columns.append(extra.times(column_sums))
            else:
                box = extra.times(free).reshape(runs, r, c)
                by_rows.append(box.sum(axis=2) if r == 1 else box @ np.ones(c))
                by_columns.append(np.ones(r) @ box if need else column_sums)
        kept = np.zeros((runs, k, k))
        if self.rows:
            np.einsum("bkk->bk", kept)[:, :m] = row_sums
        for i, one in enumerate(self.extras):
            if self.rows:
                kept[:, m + i, :m] = kept[:, :m, m + i] = by_rows[i]
            for j, other in enumerate(self.extras[: i + 1]):
                both = self._both(
                    one, other, (by_rows[i], by_rows[j]), (by_columns[i], by_columns[j]), free
                )
                kept[:, m + i, m + j] = kept[:, m + j, m + i] = both[:, 0]
        diagonal = np.einsum("bkk->bk", kept)  # a view that can be written to
        diagonal[...] = regular(diagonal, inverse_weight[:, :k], ridge)
        if not self.columns:
            return solve_small(kept, residual)
        if self.rows and not self.extras:
            coupling = table
        else:
            coupling = np.empty((runs, k, c))
            if self.rows:
                coupling[:, :m] = table
            for i, part in enumerate(by_columns):
                coupling[:, m + i] = part
        side = regular(column_sums, inverse_weight[:, k:], ridge)
        u, v = solve_bordered(kept, coupling, side, residual[:, :k], residual[:, k:])
        return np.concatenate([u, v], axis=1)

    @staticmethod
    def _both(
        one: Extra,
        other: Extra,
        rows: tuple[Array, Array],
        columns: tuple[Array, Array],
        free: Array,
    ) -> Array:
        """Return what two extra aggregates count both, shape (runs, 1)."""
        for kind, parts in (("rows", rows), ("columns", columns)):
            if one.kind == kind:
                return one.dot(parts[1])
            if other.kind == kind:
                return other.dot(parts[0])
        return one.dot(other.times(free))


def two_way(problem: Problem, aggregates: list[int]) -> tuple[TwoWay, list[int], bool] | None:
    """Recognise a list or a two-way table."""
    shape = tuple(n for n in problem.shape if n > 1) or (1,)
    if len(shape) > 2 or (len(shape) == 2 and problem.cells > TUNING.dense_entries):
        return None
    long_axes = [a for a, n in enumerate(problem.shape) if n > 1]
    flip = len(shape) == 2 and shape[0] > shape[1]
    r, c = (1, shape[0]) if len(shape) == 1 else (shape[::-1] if flip else shape)
    names = dict(zip(long_axes[::-1] if flip else long_axes, ("rows", "columns"), strict=False))
    found: dict[str, int] = {}
    extras: list[tuple[int, Extra]] = []

    def kind_of(axes: tuple[int, ...] | None) -> str | None:
        if axes is None:
            return None
        kept = [a for a in axes if problem.shape[a] > 1]
        if len(kept) == len(long_axes):
            return "cells"
        return names[kept[0]] if kept else "sum"

    for k in aggregates:
        term = problem.terms[k]
        members = None
        if isinstance(term, SubsetSum):
            kind = kind_of(term.base.axes)
            members = term.members.astype(float)
            if kind is None:
                kind, members = "cells", term.cell_members
        else:
            kind = kind_of(term.queries.axes)
            if kind in ("rows", "columns") and kind not in found:
                found[kind] = k
                continue
            if kind is None and term.size == 1:
                kind = "cells"
                members = term.spread(np.ones((1, 1)))
        if kind == "sum":
            kind, members = "rows", None
        elif kind is None or members is None:
            return None
        elif kind == "cells" and flip:
            members = members.reshape(len(members), c, r).swapaxes(1, 2).reshape(members.shape)
        extras.append((k, Extra(kind, members)))
    structure = TwoWay((r, c), "rows" in found, "columns" in found, tuple(e for _, e in extras))
    order = [found["rows"]] if "rows" in found else []
    order += [k for k, _ in extras]
    order += [found["columns"]] if "columns" in found else []
    return structure, order, flip
