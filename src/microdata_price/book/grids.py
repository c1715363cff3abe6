"""The experiment grids that notebooks read, computed once for the whole book."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from ..base.data import data_path
from ..base.files import write_whole
from ..base.provenance import digest_json
from ..fitting import METHODS
from ..grid.folder import manifest_of
from ..grid.run import run_grid
from ..grid.spec import GridSpec
from ..grid.tables import conic_calls
from .plan import Chapter, Edition

PUBLISHED_EPSILON = 0.5
"""The level of the paper's Tables 1 and 2."""
BETTER_RUNS = 300
"""Runs in which all methods are compared."""
_CALLED = {
    "grid_dir": "the grid",
    "published_dir": "the published tables' part",
    "better_dir": "the grid of all methods",
}


@dataclass(frozen=True)
class Folders:
    """Folders of computed results, their keys by parameter, and what the book says of them."""

    paths: dict[str, Path] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)


def grid_specs(edition: Edition) -> dict[str, GridSpec]:
    """Return the grids of an edition by the notebooks' parameters.

    ``grid_dir`` is the whole grid at the edition's levels; ``published_dir`` has the data sets of
    the paper's Tables 1 and 2 at their own level, and is the same grid where that contains it.
    ``better_dir`` has every method, this package's own too, with the same noise but fewer runs.
    """
    whole = published = GridSpec(epsilons=edition.epsilons, rhos=edition.rhos)
    if edition.runs is not None:
        whole = published = replace(whole, runs=edition.runs)
    if PUBLISHED_EPSILON not in whole.epsilons:
        datasets = tuple(pd.read_csv(data_path("published_tables.csv"))["dataset"].unique())
        published = replace(whole, datasets=datasets, epsilons=(PUBLISHED_EPSILON,), rhos=())
    better = replace(whole, methods=tuple(METHODS), runs=min(whole.runs, BETTER_RUNS))
    return {"grid_dir": whole, "published_dir": published, "better_dir": better}


def compute_folders(
    chapters: Sequence[Chapter], edition: Edition, cache: Path, report: Callable[[str], None]
) -> Folders:
    """Compute the grids that some notebook reads, or find them computed before."""
    found = Folders()
    wanted = {name for chapter in chapters for name in chapter.folders}
    for name, spec in grid_specs(edition).items():
        if name not in wanted:
            continue
        key = digest_json(manifest_of(spec))
        known = key in found.keys.values()
        found.paths[name], found.keys[name] = cache / key, key
        record = cache / f"{key}.json"
        if not record.is_file():
            cache.mkdir(parents=True, exist_ok=True)
            report(f"computing {spec.fits:,} fits of the experiment grid")
            result = run_grid(spec, cache / key, progress=sys.stderr.isatty())
            levels = [f"epsilon = {e:g}" for e in spec.epsilons]
            facts = {
                "fits": f"{spec.fits:,}",
                "levels": ", ".join(levels + [f"rho = {r:g}" for r in spec.rhos]),
                "runs": f"{spec.runs:,}",
                "seconds": f"{result.seconds:.0f}",
                "worst certificate": f"{result.errors['worst_certificate'].max():.1e}",
                "failures": str(int(result.errors["failures"].max())),
                "fits that the fast solvers missed": f"{conic_calls(result.errors):,}",
            }
            write_whole(record, json.dumps(facts))
            report(f"experiment grid: {result.seconds:.0f} s")
        if not known:
            facts = json.loads(record.read_text(encoding="utf-8"))
            found.facts.update({f"{_CALLED[name]}: {k}": v for k, v in facts.items()})
    return found
