"""One block of runs of one pair: noise, fits, certificates and sums of errors."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.data import data_path
from ..base.provenance import fingerprint
from ..errors.sums import ErrorSums, answer_errors, sum_errors
from ..exceptions import CertificateError
from ..fitting import CONTROL, check_methods, fit
from ..model.benchmark import DataSet, data_set
from ..model.measurement import Measurements, measure
from ..model.privacy import ConcentratedDP, PureDP
from ..model.workload import Workload
from ..optimize import WORST_TOLERANCE, Certificate
from .spec import Pair

Array = NDArray[np.float64]

# Fixed, so that no result depends on how the work is shared out; large tables have smaller blocks.
_BLOCK_RUNS, _BLOCK_ANSWERS = 250, 62_500


@functools.cache
def blocks_code() -> dict[str, str]:
    """Return hashes of a grid's code and data, and its libraries' versions."""
    libraries = ("numpy", "scipy", "clarabel", "pyarrow")
    return fingerprint("microdata_price.grid", [data_path("pums2016.csv")], libraries)


@dataclass(frozen=True)
class Task:
    """A block of runs of one pair: runs ``block * size`` and on, ``runs`` of them."""

    pair: Pair
    methods: tuple[str, ...]
    seed: int
    block: int
    runs: int

    @property
    def key(self) -> str:
        """A name for the block's file; the level is written without rounding."""
        pair = self.pair
        return f"{pair.dataset}_{pair.guarantee.kind}_{pair.guarantee.level.hex()}_{self.block}"


@dataclass(frozen=True, eq=False)
class BlockResult:
    """Error sums and certificates of a block of runs."""

    sums: dict[str, ErrorSums]  # by method; OLS is always among them
    certificates: dict[str, float]  # the worst certificate, by method
    conic: dict[str, int]  # how often the fast solvers missed and the conic was asked, by method


def block_size(workload: Workload) -> int:
    """Return how many runs a block has: 250, or fewer where the workload is large.

    Examples
    --------
    >>> block_size(Workload.table((9, 24))), block_size(Workload.table((100, 100)))
    (250, 6)
    """
    answers = sum(q.size for q in workload.query_sets)
    return max(1, min(_BLOCK_RUNS, _BLOCK_ANSWERS // answers))


def tasks_of(pair: Pair, methods: tuple[str, ...], runs: int, seed: int) -> list[Task]:
    """Cut a pair's runs into blocks."""
    size = block_size(data_set(pair.dataset).workload)
    return [
        Task(pair, methods, seed, block, min(size, runs - start))
        for block, start in enumerate(range(0, runs, size))
    ]


def stream(pair: Pair, seed: int, block: int) -> np.random.Generator:
    """Return the block's own random stream, keyed by data set, kind of privacy and level."""
    text = f"{seed}/{pair.dataset}/{pair.guarantee.kind}/{pair.guarantee.level.hex()}"
    entropy = int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(block,)))


def run_block(task: Task) -> BlockResult:
    """Compute a block of the benchmark."""
    pair, data = task.pair, data_set(task.pair.dataset)
    size = block_size(data.workload)
    rng, first = stream(pair, task.seed, task.block), task.block * size
    return fit_block(data, pair.guarantee, task.methods, rng, task.runs, pair.place, first, size)


def fit_block(
    data: DataSet,
    guarantee: PureDP | ConcentratedDP,
    methods: Sequence[str],
    rng: np.random.Generator,
    runs: int,
    place: str,
    first_run: int = 0,
    draws: int | None = None,
    watch: Callable[[str, Array], None] | None = None,
    split: Sequence[float] | None = None,
) -> BlockResult:
    """Measure a table a number of times, fit every method to the same noise, add up the errors."""
    drawn = measure(data.table, data.workload, guarantee, runs=draws or runs, rng=rng, split=split)
    measured = drawn if drawn.runs == runs else drawn.select(slice(runs))
    sums: dict[str, ErrorSums] = {}
    certificates: dict[str, float] = {}
    conic: dict[str, int] = {}
    control: tuple[Array, ...] | None = None
    for method in (CONTROL, *(m for m in check_methods(methods) if m != CONTROL)):
        cells, proof = _certified(measured, method, place, first_run)
        certificates[method], conic[method] = proof.worst, proof.conic_calls
        if watch is not None:
            watch(method, cells)
        errors = answer_errors(cells, data.table, data.workload)
        control = errors if control is None else control
        sums[method] = sum_errors(errors, control, first_run)
    return BlockResult(sums, certificates, conic)


def _certified(
    measured: Measurements, method: str, place: str, first_run: int
) -> tuple[Array, Certificate]:
    """Fit, and let no fit pass whose certificate misses."""
    runs = f"runs {first_run + 1} to {first_run + measured.runs}"
    try:
        fitted = fit(measured, method)
    except CertificateError as error:
        raise CertificateError(f"{place}, method {method}, {runs}: {error}") from error
    per_run = fitted.certificate.per_run
    worst = int(per_run.argmax())
    if not per_run[worst] <= WORST_TOLERANCE:
        raise CertificateError(
            f"{place}, method {method}, run {first_run + worst + 1}: the fit's certificate is "
            f"{per_run[worst]:.1e}; it must be {WORST_TOLERANCE:g} or less"
        )
    return fitted.cells, fitted.certificate
