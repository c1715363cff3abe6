"""Specification of a grid of experiments: data sets, levels, methods, runs, seed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..base.numbers import check_whole
from ..exceptions import InputError
from ..fitting import check_methods, paper_methods
from ..model.benchmark import data_set, names
from ..model.measurement import truth_and_noise
from ..model.privacy import ConcentratedDP, PureDP, check_epsilon, check_rho

PAPER_EPSILONS = (1.0, 0.5, 0.1)
PAPER_RHOS = (0.5, 0.125, 0.005)
PAPER_RUNS = 1000
SEED = 2021  # of the shipped results; any other gives results that are as good


@dataclass(frozen=True)
class Pair:
    """One data set at one privacy level."""

    dataset: str
    guarantee: PureDP | ConcentratedDP

    @property
    def place(self) -> str:
        """Name of the pair in messages."""
        return f"{self.dataset} at {self.guarantee.parameter} {self.guarantee.level:g}"


def check_runs(runs: object) -> int:
    """Return the number of runs, or say why it cannot be one."""
    return check_whole(runs, "runs", 1, 10_000_000)


def processors() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_workers(workers: object | None) -> int:
    """Return the number of worker processes (by default one a processor), or say why not.

    More than four a processor, and more than eight, is refused as a slip.
    """
    if workers is None:
        return processors()
    machine = f" on this machine of {processors()} processors"
    return check_whole(workers, "workers", 1, max(8, 4 * processors()), machine)


def _check_data_sets(given: Iterable[str]) -> tuple[str, ...]:
    """Put names of data sets into their canonical order, each once."""
    wanted = [data_set(name).name for name in given]
    if not wanted:
        raise InputError(f"no data set is named; known are: {', '.join(names())}")
    return tuple(name for name in names() if name in wanted)


@dataclass(frozen=True)
class GridSpec:
    """A grid: every method on every data set at every privacy level, on the same noise.

    The defaults are the paper's complete experiments. Names and levels are put into a canonical
    order, so that two ways to say one thing are equal.

    Examples
    --------
    >>> len(GridSpec().pairs), GridSpec().fits
    (186, 930000)
    """

    datasets: tuple[str, ...] = field(default_factory=names)
    epsilons: tuple[float, ...] = PAPER_EPSILONS
    rhos: tuple[float, ...] = PAPER_RHOS
    methods: tuple[str, ...] = field(default_factory=lambda: tuple(paper_methods()))
    runs: int = PAPER_RUNS
    seed: int = SEED

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "datasets", _check_data_sets(self.datasets))
        put(self, "methods", check_methods(self.methods))
        put(self, "epsilons", tuple(sorted({check_epsilon(e) for e in self.epsilons}))[::-1])
        put(self, "rhos", tuple(sorted({check_rho(r) for r in self.rhos}))[::-1])
        put(self, "runs", check_runs(self.runs))
        put(self, "seed", check_whole(self.seed, "seed", 0, 2**64 - 1))
        if not self.epsilons and not self.rhos:
            raise InputError("no privacy level is given; name one or more of epsilon or rho")
        for pair in self.pairs:  # what cannot be simulated is refused before anything is
            data = data_set(pair.dataset)
            truth_and_noise(data.table, data.workload, pair.guarantee)

    @classmethod
    def choose(
        cls,
        family: str | Iterable[str] = "all",
        *,
        datasets: Iterable[str] = (),
        epsilon: Iterable[float] = (),
        rho: Iterable[float] = (),
        methods: Iterable[str] = (),
        runs: int = PAPER_RUNS,
        seed: int = SEED,
    ) -> GridSpec:
        """Build a grid from what a person asks for; what is left out has the paper's values.

        Only these data sets of the families are taken. Levels of only one kind leave the other kind
        of privacy out.

        Examples
        --------
        >>> GridSpec.choose("pums", epsilon=[0.5]).rhos
        ()
        """
        families = [family] if isinstance(family, str) else list(family)
        known = [name for f in families for name in names(f)]
        wanted = list(datasets)
        for name in wanted:
            data_set(name)  # an unknown name is told apart from one of another family
            if name not in known:
                raise InputError(
                    f"the data set {name!r} is not of the family {' or '.join(families)}; leave "
                    "the family out, or name its own"
                )
        epsilons, rhos = tuple(epsilon), tuple(rho)
        if not epsilons and not rhos:
            epsilons, rhos = PAPER_EPSILONS, PAPER_RHOS
        chosen = tuple(methods) or tuple(paper_methods())
        return cls(tuple(wanted or known), epsilons, rhos, chosen, runs, seed)

    @property
    def guarantees(self) -> tuple[PureDP | ConcentratedDP, ...]:
        """The privacy levels, pure before zCDP, weak before strong."""
        return (*(PureDP(e) for e in self.epsilons), *(ConcentratedDP(r) for r in self.rhos))

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Every data set at every level."""
        return tuple(Pair(d, g) for d in self.datasets for g in self.guarantees)

    @property
    def fits(self) -> int:
        """Number of tables fitted."""
        return len(self.pairs) * len(self.methods) * self.runs
