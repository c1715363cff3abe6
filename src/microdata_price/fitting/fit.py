"""What a method returns: a table for each run, with its certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.workload import Workload
from ..optimize import Certificate

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fit:
    """Tables fitted to noisy answers, one a run.

    Parameters
    ----------
    method
        The method's name.
    workload
        What had been asked.
    cells
        Weights of the records, shape (runs, cells), in counts; 0 or more but for OLS.
    certificate
        How far each run is from its optimum, the worst over the method's stages.

    Examples
    --------
    >>> z = np.zeros(1)
    >>> Fit("nnls", Workload.table(2), np.array([[3.0, 4.0]]), Certificate(z, z, z)).answers()[0]
    array([[7.]])
    """

    method: str
    workload: Workload
    cells: Array
    certificate: Certificate

    @property
    def tables(self) -> Array:
        """The fitted tables, shape (runs, table shape)."""
        return self.cells.reshape(-1, *self.workload.shape)

    def answers(self) -> tuple[Array, ...]:
        """Answer the workload from the fitted tables; one array (runs, queries) a query set."""
        return self.workload.answers(self.tables)
