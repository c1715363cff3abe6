"""Random measurements of random workloads: any dimension, order, masks, noises and ties."""

import numpy as np

from microdata_price.model.measurement import Measurements, measure
from microdata_price.model.noise import Gaussian, Laplace
from microdata_price.model.privacy import PureDP
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload


def without_gaps(labels):
    """Number the labels that occur 0, 1, ..., and leave -1."""
    return np.where(labels >= 0, np.searchsorted(np.unique(labels[labels >= 0]), labels), -1)


def random_workload(rng, cells=40):
    """One to five query sets: sum, cells, marginals, and labels that leave cells out."""
    dimensions = int(rng.integers(1, 4))
    largest = max(2, int(cells ** (1 / dimensions)))
    shape = tuple(int(n) for n in rng.integers(1, largest + 1, dimensions))
    size = int(np.prod(shape))
    sets = []
    for kind in rng.permutation(6)[: rng.integers(1, 6)]:
        name = f"set{kind}"
        if kind == 0:
            sets.append(QuerySet.sum_query(shape, name))
        elif kind == 1:
            sets.append(QuerySet.identity(shape, name))
        elif kind < 4:
            keep = np.flatnonzero(rng.random(dimensions) < 0.5).tolist()
            sets.append(QuerySet.marginal(shape, keep, name))
        else:
            labels = rng.integers(-1, max(1, size // 2), size)
            labels = without_gaps(labels) if labels.max() >= 0 else np.zeros(size, dtype=int)
            sets.append(QuerySet.from_labels(labels.reshape(shape), name))
    return Workload(tuple(sets))


def random_measurements(seed, runs=2, cells=40):
    """Sparse counts up to 10^5, noise from 0.01 to 100 counts, often rounded so that ties occur."""
    rng = np.random.default_rng(seed)
    workload = random_workload(rng, cells)
    n = workload.cells
    x = rng.integers(0, 3, n) * rng.integers(0, 10 ** int(rng.integers(0, 6)) + 1, n)
    same = rng.random() < 0.5
    scales = 10.0 ** rng.uniform(-2, 2, len(workload.query_sets))
    rounded = rng.random() < 0.3
    noise, answers = [], []
    for q, scale in zip(workload.query_sets, scales, strict=True):
        kind = Laplace if rng.random() < 0.5 else Gaussian
        noise.append(kind(float(scales[0] if same else scale)))
        a = q.answers(x.reshape(workload.shape)) + noise[-1].sample(rng, (runs, q.size))
        answers.append(np.round(a) if rounded else a)
    return Measurements(workload, tuple(answers), tuple(noise))


def measured(table, guarantee=None, runs=5, seed=1, split=None):
    """The sum, the marginals and the cells of a table, by default with epsilon 0.5."""
    workload = Workload.table(np.shape(table))
    rng = np.random.default_rng(seed)
    return measure(table, workload, guarantee or PureDP(0.5), runs=runs, rng=rng, split=split)


def uneven(shape=(4, 5)):
    """Return a table of the counts 0 to 6, over and over."""
    return np.arange(float(np.prod(shape))).reshape(shape) % 7
