"""The best of all private channels on a few tables, by one linear program."""

import math

import numpy as np
from scipy import optimize, sparse


def least_worst_loss(near, epsilon, losses, limited=None, most=0.0):
    """Return the least, over all channels, of the largest expected loss on any table.

    ``near`` has a row ``i, j`` for each pair of neighbouring tables, both ways; losses have a row
    for each table, a column for each output. On no table may ``limited`` exceed ``most``, expected.
    """
    n, size = losses[0].shape
    private = np.zeros((len(near), n))
    row = np.arange(len(near))
    private[row, near[:, 0]], private[row, near[:, 1]] = 1, -math.exp(epsilon)
    blocks = [[sparse.kron(private, sparse.eye_array(size)), None]]
    right = [np.zeros(len(near) * size)]
    asked = [(loss, -1.0, 0.0) for loss in losses]
    asked += [] if limited is None else [(limited, 0.0, most)]
    for loss, worst, bound in asked:
        expected = sparse.block_diag([sparse.coo_array(each[None]) for each in loss])
        blocks.append([expected, np.full((n, 1), worst)])
        right.append(np.full(n, bound))
    law = sparse.kron(sparse.eye_array(n), np.ones((1, size)))
    found = optimize.linprog(
        np.append(np.zeros(n * size), 1.0),
        A_ub=sparse.bmat(blocks, format="csr"),
        b_ub=np.concatenate(right),
        A_eq=sparse.hstack([law, np.zeros((n, 1))]),
        b_eq=np.ones(n),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0
    return float(found.fun)
