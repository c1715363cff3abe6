r"""Cuts: sets of bands that no nonnegative table can meet together.

At a distance t each query's answer lies in a band, :math:`low \le U x \le high`. A vector z with
:math:`U' z \le 0` has :math:`z \cdot U x \le 0` for every table of 0 or more, while the bands allow
it to be :math:`z^+ \cdot low - z^- \cdot high` at the least, its *excess*: where that is positive,
no table is within the bands. Finding the z of largest excess is the linear program of `distance`;
here are the families among which it is found by the structure alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from ..model.queryset import QuerySet

Array = NDArray[np.float64]

_NEVER = 1e30
"""A bound that no sum reaches; infinity would make 0 times infinity out of an empty sum."""


@dataclass(frozen=True, eq=False)
class Bands:
    """Bands of allowed answers at a distance, for a batch of runs."""

    answers: Array  # noisy answers of all query sets side by side, shape (runs, queries), in counts
    std: Array  # standard deviations of their noise, shape (queries,), in counts
    distance: Array  # shape (runs,), in standard deviations

    @property
    def low(self) -> Array:
        """The least answers allowed: 0 or more, as every answer of a table is."""
        return np.maximum(self.answers - self.distance[:, None] * self.std, 0.0)

    @property
    def high(self) -> Array:
        """The largest answers allowed."""
        return np.asarray(self.answers + self.distance[:, None] * self.std)


class CutFinder(Protocol):
    """From bands to each run's most violated cut found, z of shape (runs, queries), and its excess.

    Of every table, ``z . answers <= 0``. The excess is the least that z's bands allow this to be.
    Hints are multipliers, shape (runs, queries), of a problem that has no answer within the bands.
    """

    def __call__(self, bands: Bands, hints: Array | None = None) -> tuple[Array, Array]:
        """Return the cuts and their excesses, shape (runs,)."""
        ...


def make_cuts(sets: Sequence[QuerySet]) -> CutFinder | None:
    """Choose how to look for cuts on some query sets; ``None`` if there are none to look for."""
    offsets = np.cumsum([0, *(q.size for q in sets)])
    two_way = _two_way(sets, offsets)
    return two_way or _among_pairs(sets, offsets)


def _shared(
    sets: Sequence[QuerySet], offsets: NDArray[np.intp], first: int, second: int
) -> sp.csr_array:
    """Return cuts between two sets' sums over all that they share.

    Join queries that have a cell in common. Where those of one set in such a group have no cell
    that the other set leaves out, their sum is at most that of the other's. For two marginals the
    groups are the queries of the marginal on the axes that they share.
    """
    one, two = sets[first], sets[second]
    common = sp.csr_array(one.matrix @ two.matrix.T)
    blocks: Any = [[None, common], [common.T, None]]
    many, group = connected_components(sp.block_array(blocks), directed=False)
    ours, theirs = group[: one.size], group[one.size :]
    sizes = [np.bincount(g, minlength=many) for g in (ours, theirs)]
    places = (np.arange(one.size) + offsets[first], np.arange(two.size) + offsets[second])
    entries = np.repeat([1.0, -1.0], [one.size, two.size])
    where = (group, np.concatenate(places))
    cuts = sp.csr_array(sp.coo_array((entries, where), (many, int(offsets[-1]))))
    kept = []
    for large, queries, own, counted in (
        (cuts, one, ours, common.sum(axis=1)),
        (-cuts, two, theirs, common.sum(axis=0)),
    ):
        open_ = np.bincount(own, weights=counted < queries.counts, minlength=many) > 0
        # Where a set has but one query in a group, `_nested` has looked already.
        chosen = ~open_ & (sizes[0] > 1) & (sizes[1] > 1)
        kept.append(sp.csr_array(large)[np.flatnonzero(chosen)])
    return sp.csr_array(sp.vstack(kept))


def _nested(sets: Sequence[QuerySet], offsets: NDArray[np.intp]) -> list[sp.csr_array]:
    """Return cuts of a query against those of another set that lie within it or that cover it."""
    rows: list[sp.csr_array] = []
    total = int(offsets[-1])
    for (i, outer), (j, inner) in permutations(enumerate(sets), 2):
        if outer.size > inner.size:
            continue
        # How many cells each pair of queries, one of each set, has in common.
        common = sp.coo_array(outer.matrix @ inner.matrix.T)
        (big, small), shared = common.coords, common.data
        inside = shared == inner.counts[small]
        covered = np.zeros(outer.size)
        np.add.at(covered, big, shared)
        filled = covered == outer.counts
        for within, chosen, whole in (
            (True, inside, np.bincount(big[inside], minlength=outer.size) > 0),
            (False, filled[big], filled),
        ):
            here = np.flatnonzero(whole)
            those, own = (big[chosen], small[chosen] + offsets[j]), (here, here + offsets[i])
            part = sp.coo_array((np.ones(int(chosen.sum())), those), (outer.size, total))
            itself = sp.coo_array((np.ones(here.size), own), (outer.size, total))
            rows.append(sp.csr_array(part - itself if within else itself - part)[here])
    return rows


def _among_pairs(sets: Sequence[QuerySet], offsets: NDArray[np.intp]) -> CutFinder | None:
    """Look for cuts between the queries of two sets."""
    rows = _nested(sets, offsets)
    rows += [_shared(sets, offsets, i, j) for i, j in combinations(range(len(sets)), 2)]
    if not any(r.shape[0] for r in rows):
        return None
    cuts = sp.csr_array(sp.vstack(rows))
    large, small_ = sp.csr_array(cuts > 0).astype(float), sp.csr_array(cuts < 0).astype(float)

    def find(bands: Bands, hints: Array | None = None) -> tuple[Array, Array]:
        del hints
        excess = (large @ bands.low.T - small_ @ bands.high.T).T
        best = excess.argmax(axis=1)
        return cuts[best].toarray(), np.take_along_axis(excess, best[:, None], axis=1)[:, 0]

    return find


@dataclass(frozen=True, eq=False)
class _TwoWay:
    """Cuts of a two-way table by its structure.

    A table is a circulation: from a source to the rows, through the cells to the columns, to a
    sink and back. By Hoffman's theorem its bands can be met unless some set S of nodes has more
    flow forced in than can leave. For given rows in S the best columns are found one by one, and
    the other way round; alternating between the two climbs to a set that neither improves. That is
    not always the best one. Multipliers that run away because no table is within the bands point
    to a better start: among the sets of rows above or below some level of theirs one is violated,
    since their excess is the integral of those sets' excesses over all levels.
    """

    rows: int
    columns: int
    where: dict[str, slice]

    def split(self, values: Array, missing: float) -> dict[str, Array]:
        """Return the sum's, rows', columns' and cells' values, shaped as the table."""
        sizes = {
            "sum": (1,),
            "rows": (self.rows,),
            "columns": (self.columns,),
            "cells": (self.rows, self.columns),
        }
        return {
            k: values[:, self.where[k]].reshape(len(values), *n)
            if k in self.where
            else np.full((values.shape[0], *n), missing)
            for k, n in sizes.items()
        }

    def starts(self, hints: Array | None) -> Array:
        """Return sets of rows to start from, as zeros and ones: (runs or 1, starts, rows)."""
        if hints is None or "rows" not in self.where:
            return np.repeat([[[0.0], [1.0]]], self.rows, axis=2)
        rank = hints[:, self.where["rows"]].argsort(axis=1).argsort(axis=1)
        below = (rank[:, None, :] < np.arange(self.rows + 1)[:, None]).astype(float)
        return np.concatenate([below, 1 - below], axis=1)

    def __call__(self, bands: Bands, hints: Array | None = None) -> tuple[Array, Array]:
        """Return each run's most violated cut found, and its excess."""
        low, high = self.split(bands.low, 0.0), self.split(bands.high, _NEVER)
        low_t, high_t = low["cells"].swapaxes(1, 2), high["cells"].swapaxes(1, 2)
        runs = np.arange(bands.distance.size)
        starts = self.starts(hints)
        # Each start is tried with the source in S and not, and with the sink in S and not.
        source, sink = (np.repeat(k, starts.shape[1]) for k in ((0, 0, 1, 1), (0, 1, 0, 1)))
        rows = np.broadcast_to(np.tile(starts, (1, 4, 1)), (runs.size, source.size, self.rows))
        # What a row or column adds by being in S or out of it, but for the cells.
        col_in = np.where(sink[:, None], 0.0, -high["columns"][:, None])
        col_out = np.where(sink[:, None], low["columns"][:, None], 0.0)
        row_in = np.where(source[:, None], 0.0, low["rows"][:, None])
        row_out = np.where(source[:, None], -high["rows"][:, None], 0.0)
        back = np.where(source > sink, low["sum"], np.where(source < sink, -high["sum"], 0.0))
        for _ in range(self.rows + self.columns):
            with_col = (1 - rows) @ low["cells"] + col_in
            without_col = col_out - rows @ high["cells"]
            columns = (with_col > without_col).astype(float)
            with_row = row_in - (1 - columns) @ high_t
            without_row = row_out + columns @ low_t
            new = (with_row > without_row).astype(float)
            if (new == rows).all():
                break
            rows = new
        own = np.where(columns > 0, col_in, col_out).sum(axis=2)
        excess = np.maximum(with_row, without_row).sum(axis=2) + own + back
        best = excess.argmax(axis=1)
        rows, columns = new[runs, best], columns[runs, best]
        parts = {
            "sum": (source - sink)[best][:, None],
            "rows": rows - source[best][:, None],
            "columns": sink[best][:, None] - columns,
            "cells": (columns[:, None, :] - rows[:, :, None]).reshape(
                runs.size, self.rows * self.columns
            ),
        }
        z = np.zeros_like(bands.answers)
        for k, place in self.where.items():
            z[:, place] = parts[k]
        return z, excess[runs, best]


def _two_way(sets: Sequence[QuerySet], offsets: NDArray[np.intp]) -> CutFinder | None:
    """Recognise a two-way table whose sets are some of its sum, marginals and cells."""
    axes = [q.axes for q in sets]
    shape = sets[0].shape
    if len(shape) != 2 or None in axes or len(set(axes)) != len(axes):
        return None
    names = {(): "sum", (0,): "rows", (1,): "columns", (0, 1): "cells"}
    where = {
        names[a]: slice(int(offsets[i]), int(offsets[i + 1]))
        for i, a in enumerate(axes)
        if a is not None
    }
    return _TwoWay(shape[0], shape[1], where)
