"""Laws of what mechanisms put out, as arrays of probabilities; neighbours of a table."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.numbers import standard_error
from ...exceptions import InputError
from ...model.noise import Noise
from ...model.noise_discrete import DiscreteNoise
from ...model.privacy import check_epsilon
from ...model.table import check_table
from ...model.workload import Workload
from ...theory.given import check_points

Array = NDArray[np.float64]


def clipped_law(noise: DiscreteNoise, count: int, low: int, high: int) -> Array:
    """Return the law of ``count + z`` clipped to ``low..high``, one probability a whole number."""
    if not high > low:
        raise InputError(f"the range runs from {low} to {high}; it must hold two integers or more")
    values = np.arange(low, high + 1, dtype=float)
    law = np.asarray(noise.pmf(values - count))
    law[0] = float(noise.sf(np.asarray(count - low - 1.0)))
    law[-1] = float(noise.sf(np.asarray(high - count - 1.0)))
    return law


def postprocess(law: ArrayLike, images: ArrayLike) -> Array:
    """Return the law of a function of the output (postprocessing, the paper's Section 2.2)."""
    p, image = np.asarray(law, dtype=float), np.asarray(images)
    if p.ndim != 1 or p.shape != image.shape:
        raise InputError(
            f"there are {p.shape} probabilities and {image.shape} images; there must be one image "
            "an outcome"
        )
    _, labels = np.unique(image, return_inverse=True)
    return np.asarray(np.bincount(labels, weights=p), dtype=float)


def independent(law: ArrayLike, copies: int) -> Array:
    """Return the law of several independent outputs together (composition, Section 2.2)."""
    one = np.asarray(law, dtype=float).ravel()
    joint = np.ones(1)
    for _ in range(int(check_points(copies))):
        joint = np.outer(joint, one).ravel()
    return joint


def randomised_response(epsilon: float, truth: bool) -> Array:
    """Return the law of randomised response: the truth with the odds ``exp(epsilon)`` to 1.

    The probabilities are those of the answers "no" and "yes".
    """
    e = check_epsilon(epsilon)
    right, wrong = 1 / (1 + math.exp(-e)), math.exp(-e) / (1 + math.exp(-e))
    return np.array([wrong, right] if truth else [right, wrong])


def neighbours(table: ArrayLike) -> Array:
    """Return all neighbours of a table: one record added or removed (the paper's Definition 1)."""
    counts = check_table(table)
    one = np.eye(counts.size).reshape(counts.size, *counts.shape)
    return np.concatenate([counts + one, (counts - one)[counts.ravel() > 0]])


def largest_change(workload: Workload, table: ArrayLike, p: int) -> float:
    """Return how far a workload's answers move, in L_p norm, to the worst neighbour of a table.

    The supremum of this over all tables is the sensitivity (the paper's Definition 4).
    """
    own = workload.answers(check_table(table, workload.shape)[None])
    other = workload.answers(neighbours(table))
    moved = np.concatenate([abs(b - a) for a, b in zip(own, other, strict=True)], axis=1)
    return float((moved**p).sum(axis=1).max() ** (1 / p))


class ErrorProfile(NamedTuple):
    """Sampled squared errors, in squared counts, each with its standard error."""

    per_query: Array
    per_query_se: Array
    simultaneous: float
    simultaneous_se: float


def sampled_errors(noise: Noise, d: int, runs: int, rng: np.random.Generator) -> ErrorProfile:
    """Estimate both sides of the paper's Equation 1 for d independently noisy answers."""
    if runs < 2:
        raise InputError(f"runs is {runs}; it must be 2 or more, so that there are standard errors")
    squares = noise.sample(rng, (runs, d)) ** 2
    largest = squares.max(axis=1)
    return ErrorProfile(
        squares.mean(axis=0),
        standard_error(squares),
        float(largest.mean()),
        float(standard_error(largest)),
    )
