"""Fitting cells to a noisy sum by one threshold: the paper's Lemma 2 and the family around it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...exceptions import InputError
from ...model.table import real_numbers

Array = NDArray[np.float64]


def check_weight(weight: float) -> float:
    """Return the weight of the sum as a float in [0, inf], or say why it cannot be one."""
    value = float(weight)
    if not value >= 0:
        needed = "it must be 0 or more (infinity fixes the sum)"
        raise InputError(f"the sum's weight is {weight!r}; {needed}")
    return value


def threshold(answers: ArrayLike, total: ArrayLike, weight: float = math.inf) -> Array:
    """Return the gamma with which ``x_i = (a_i - gamma)+`` fits cells and their sum.

    The fit minimises ``sum_i (x_i - a_i)^2 + weight (sum_i x_i - total)^2`` over ``x >= 0``. At an
    infinite weight the sum is exactly the total (the paper's Lemma 2); at weight 0 gamma is 0.

    Parameters
    ----------
    answers
        Noisy cells a, shape (..., d), in counts.
    total
        The noisy sum, shape (...), in counts; 0 or more if the weight is infinite. At 0 the
        smallest gamma is returned: the largest answer.
    weight
        The weight of the sum beside a cell's, from 0 to infinity.

    Examples
    --------
    >>> float(threshold([3.0, 1.0, -2.0], 2.0))
    1.0
    """
    a, target = real_numbers(answers, "the answers"), real_numbers(total, "the total")
    slack = 1 / w if (w := check_weight(weight)) else math.inf
    if a.ndim == 0 or a.shape[-1] == 0 or target.shape != a.shape[:-1]:
        shapes = f"{a.shape} and {target.shape}; needed are (..., cells) and (...)"
        raise InputError(f"the answers and the total have shapes {shapes}, with at least one cell")
    if not (np.isfinite(a).all() and np.isfinite(target).all()):
        raise InputError("the answers or the total hold something that is not a finite number")
    if slack == 0 and (target < 0).any():
        raise InputError(
            f"the total is {float(target.min()):g}; nonnegative cells cannot add up to it, so it "
            "must be 0 or more (clip it at 0 first)"
        )
    if math.isinf(slack):
        return np.zeros(target.shape)
    down = np.flip(np.sort(a, axis=-1), axis=-1)
    k = np.arange(1, a.shape[-1] + 1)
    candidates = (np.cumsum(down, axis=-1) - target[..., None]) / (slack + k)
    kept = (down > candidates).sum(axis=-1)
    none = -target / slack if slack > 0 else down[..., 0]
    last = np.take_along_axis(candidates, np.maximum(kept - 1, 0)[..., None], axis=-1)[..., 0]
    return np.where(kept > 0, last, none)


def project(answers: ArrayLike, total: ArrayLike, weight: float = math.inf) -> Array:
    """Return the nonnegative cells ``(a_i - gamma)+`` closest to the noisy cells and their sum.

    Parameters and shapes are those of `threshold`.

    Examples
    --------
    >>> project([3.0, 1.0, -2.0], 2.0)
    array([2., 0., 0.])
    """
    gamma = threshold(answers, total, weight)
    return np.maximum(np.asarray(answers, dtype=float) - gamma[..., None], 0)
