"""Query sets: disjoint counting queries on one table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InputError
from .table import check_shape

Array = NDArray[np.float64]

_MOST_AXES = 10  # of a marginal, with 2^10 interactions


@dataclass(frozen=True, eq=False)
class QuerySet:
    """Disjoint counting queries on one table.

    Build one with `sum_query`, `marginal`, `identity` or `from_labels`.

    Parameters
    ----------
    labels
        For each cell (flattened in C order) the number of the query that counts it, -1 for none.
    size
        The number of queries.
    axes
        The axes that a marginal keeps: ``()`` for the sum, all of them for the identity; ``None``
        for query sets without that structure.

    Examples
    --------
    >>> QuerySet.marginal((2, 3), keep=(0,)).answers([[1, 2, 3], [4, 5, 6]])
    array([ 6., 15.])
    """

    name: str
    shape: tuple[int, ...]
    labels: NDArray[np.intp]
    size: int
    axes: tuple[int, ...] | None = None

    @classmethod
    def sum_query(cls, shape: int | Sequence[int], name: str = "sum") -> QuerySet:
        """Build the sum query: the number of all records."""
        return cls.marginal(shape, keep=(), name=name)

    @classmethod
    def identity(cls, shape: int | Sequence[int], name: str = "identity") -> QuerySet:
        """Build the point queries: one for each cell."""
        return cls.marginal(shape, keep=range(len(check_shape(shape))), name=name)

    @classmethod
    def marginal(
        cls, shape: int | Sequence[int], keep: Sequence[int], name: str | None = None
    ) -> QuerySet:
        """Build a marginal: one query for each combination of values of the axes kept.

        Examples
        --------
        >>> QuerySet.marginal((2, 3), keep=(1,)).labels
        array([0, 1, 2, 0, 1, 2])
        """
        shape = check_shape(shape)
        axes = tuple(a for a in range(len(shape)) if a in keep)
        if len(axes) != len(keep):
            wanted = f"each must occur once and lie between 0 and {len(shape) - 1}"
            raise InputError(f"the axes to keep are {tuple(keep)}; {wanted}")
        size = math.prod(shape[a] for a in axes)
        sides = tuple(n if i in axes else 1 for i, n in enumerate(shape))
        index = np.arange(size, dtype=np.intp).reshape(sides)
        labels = np.broadcast_to(index, shape).ravel()
        own = "marginal" + "x".join(str(a + 1) for a in axes)
        return cls(own if name is None else name, shape, labels, size, axes)

    @classmethod
    def from_labels(cls, labels: ArrayLike, name: str) -> QuerySet:
        """Build the query set in which cells with one label form one query.

        The labels are whole numbers, shaped as the table; -1 leaves a cell out, and 0 to the
        largest must all occur.

        Examples
        --------
        >>> QuerySet.from_labels([0, 0, 1, -1], "halves").answers([1, 2, 3, 4])
        array([3., 3.])
        """
        array = np.asarray(labels)
        if array.ndim == 0 or array.size == 0 or not np.issubdtype(array.dtype, np.integer):
            found = f"the labels of query set {name!r} have shape {array.shape}"
            wanted = "they must be whole numbers, shaped as the table"
            raise InputError(f"{found} and type {array.dtype}; {wanted}")
        flat = array.ravel()
        size = int(flat.max()) + 1
        used = np.unique(flat[flat >= 0])
        if flat.min() < -1 or size < 1 or used.size != size:
            found = f"the labels of query set {name!r} run from {flat.min()} to {flat.max()}"
            wanted = "they must be 0, 1, 2, ... without a gap, and -1 for cells left out"
            raise InputError(f"{found} and use {used.size} of them; {wanted}")
        return cls(name, array.shape, flat.astype(np.intp), size)

    @property
    def matrix(self) -> sp.csr_array:
        """The queries as rows of zeros and ones, shape (queries, cells)."""
        cells = np.flatnonzero(self.labels >= 0)
        where = (self.labels[cells], cells)
        return sp.csr_array((np.ones(cells.size), where), shape=(self.size, self.cells))

    @property
    def cells(self) -> int:
        """The number of cells of the table."""
        return self.labels.size

    @cached_property
    def counts(self) -> Array:
        """Numbers of cells that each query counts, shape (queries,)."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.size).astype(float)

    @property
    def is_identity(self) -> bool:
        """True if each cell is a query of its own, in order."""
        return self.size == self.cells and bool((self.labels == np.arange(self.cells)).all())

    def interactions(self) -> list[tuple[int, ...]] | None:
        """Return all sets of axes longer than 1 that a marginal keeps; of more than 10 axes none.

        Examples
        --------
        >>> QuerySet.marginal((2, 1, 3), keep=(0, 1, 2)).interactions()
        [(), (0,), (2,), (0, 2)]
        """
        axes = None if self.axes is None else [a for a in self.axes if self.shape[a] > 1]
        if axes is None or len(axes) > _MOST_AXES:
            return None
        return [s for k in range(len(axes) + 1) for s in combinations(axes, k)]

    def answers(self, table: ArrayLike) -> Array:
        """Answer the queries on one table or a batch of them.

        From shape (..., table shape) or (..., cells) to (..., queries), in counts.

        Examples
        --------
        >>> QuerySet.sum_query((2, 2)).answers([[[1, 2], [3, 4]]])
        array([[10.]])
        """
        x = np.asarray(table, dtype=float)
        k = len(self.shape)
        if x.ndim >= k and x.shape[-k:] == self.shape:
            x = x.reshape(*x.shape[:-k], self.cells)
        elif x.ndim == 0 or x.shape[-1] != self.cells:
            wanted = f"query set {self.name!r} is for tables of shape {self.shape}"
            raise InputError(f"the table has shape {x.shape}; {wanted}")
        if self.axes is not None:
            drop = tuple(a - k for a in range(k) if a not in self.axes)
            boxed = x.reshape(*x.shape[:-1], *self.shape)
            summed = boxed.sum(axis=drop) if drop else boxed
            return np.asarray(summed).reshape(*x.shape[:-1], self.size)
        inside = self.labels >= 0
        labels, rows = self.labels[inside], x.reshape(-1, self.cells)[:, inside]
        out = np.empty((rows.shape[0], self.size))
        for r, row in enumerate(rows):
            out[r] = np.bincount(labels, weights=row, minlength=self.size)
        return out.reshape(*x.shape[:-1], self.size)

    def spread(self, values: ArrayLike) -> Array:
        """Give each cell the value of the query that counts it, 0 where none does (the transpose).

        From shape (..., queries) to (..., cells).

        Examples
        --------
        >>> QuerySet.from_labels([0, 1, 1, -1], "q").spread([5.0, 7.0])
        array([5., 7., 7., 0.])
        """
        v = np.asarray(values, dtype=float)
        if v.shape[-1:] != (self.size,):
            raise InputError(f"the values have shape {v.shape}; needed is (..., {self.size})")
        spread = v[..., self.labels]
        return np.where(self.labels >= 0, spread, 0.0) if (self.labels < 0).any() else spread
