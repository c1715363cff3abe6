"""The edition of a book, its notebooks in order, and the values and grids that each runs with."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from ..base.data import data_path
from ..base.files import write_whole
from ..base.provenance import digest_json
from ..exceptions import InputError
from ..fitting import METHODS
from ..grid.folder import GridFolder, manifest_of
from ..grid.run import run_grid
from ..grid.spec import PAPER_EPSILONS, PAPER_RHOS, PAPER_RUNS, GridSpec
from ..grid.tables import conic_calls
from . import notebook
from .parameters import LEVELS, check

FOLDERS = {
    "grid_dir": "the grid",
    "published_dir": "the published tables' part",
    "better_dir": "the grid of all methods",
}
"""Parameters that the book fills with folders of computed results, and what it calls these."""
PUBLISHED_EPSILON = 0.5  # the level of the paper's Tables 1 and 2
BETTER_RUNS = 300  # in which all methods are compared


def plain(value: object) -> str:
    """Write a value as it was given, with no digit lost, but a whole number without its .0."""
    return str(value).removesuffix(".0" if isinstance(value, float) else "")


def in_words(values: Mapping[str, Any]) -> str:
    """Write parameters with their values."""
    return ", ".join(f"{name} = {plain(value)}" for name, value in values.items())


@dataclass(frozen=True)
class Edition:
    """The levels that a whole book is computed at; ``None`` leaves the notebooks' own."""

    epsilon: float | None = None
    rho: float | None = None
    delta: float | None = None
    runs: int | None = None
    solutions: bool = True

    def __post_init__(self) -> None:
        for name, checked in LEVELS.items():
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, checked(value))
        if self.runs is not None and self.runs < 10:
            raise InputError(f"runs is {self.runs}; standard errors need 10 or more")

    @property
    def given(self) -> dict[str, float | int]:
        """The levels that were given, by the names of the parameters that they replace."""
        return {k: v for k in (*LEVELS, "runs") if (v := getattr(self, k)) is not None}

    @property
    def slug(self) -> str:
        """The edition's folder in book/_build; empty for the default book."""
        parts = [f"{'eps' if k == 'epsilon' else k}-{plain(v)}" for k, v in self.given.items()]
        return "-".join(parts + ([] if self.solutions else ["students"]))

    @property
    def title(self) -> str:
        """The title of the site."""
        at = f" at {in_words(self.given)}" if self.given else ""
        return f"The price of microdata{at}" + ("" if self.solutions else " (students' edition)")


@dataclass(frozen=True)
class Chapter:
    """One notebook of a book, with the values that it is run with."""

    path: Path
    source: notebook.Notebook
    values: dict[str, Any] = field(default_factory=dict)
    folders: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The notebook's name, as in the table of contents."""
        return self.path.stem


def find_root(*starts: Path) -> Path:
    """Return the checkout that holds the book: the nearest folder with ``book/_toc.yml``."""
    for start in (*starts, Path.cwd(), Path(__file__)):
        for folder in (start.resolve(), *start.resolve().parents):
            if (folder / "book" / "_toc.yml").is_file():
                return folder
    said = "run this in the project's checkout, the folder that holds book/_toc.yml"
    raise InputError(f"no book was found at or above {Path.cwd()}; {said}")


def toc_entries(root: Path) -> list[str]:
    """Return the pages and notebooks of the table of contents, in the book's order."""
    from sphinx_external_toc.parsing import MalformedError, parse_toc_yaml

    path = root / "book" / "_toc.yml"
    try:
        return [*parse_toc_yaml(path)]
    except (MalformedError, yaml.YAMLError) as error:
        raise InputError(f"{path} cannot be used: {' '.join(str(error).split())}") from None


def notebook_paths(root: Path) -> list[Path]:
    """Return the notebooks of the table of contents in its order, then those without a page."""
    listed = [root / f"{e}.ipynb" for e in toc_entries(root) if e.startswith("notebooks/")]
    return [*listed, *sorted({*(root / "notebooks").glob("*.ipynb")} - {*listed})]


def chapters(root: Path, edition: Edition) -> list[Chapter]:
    """Read every notebook of the book and check what it will be run with, before any runs."""
    found = []
    for path in notebook_paths(root):
        source = notebook.strip(notebook.read(path))
        declared = notebook.parameters(source, path.stem)
        # A level reaches the parameter of its name, and as a list of one the plural of it.
        given: dict[str, Any] = {k: v for k, v in edition.given.items() if k in declared}
        given |= {f"{k}s": [v] for k, v in edition.given.items() if f"{k}s" in declared}
        folders = tuple(f for f in FOLDERS if f in declared)
        found.append(Chapter(path, source, check(declared, given, path.stem), folders))
    return found


def grid_specs(edition: Edition) -> dict[str, GridSpec]:
    """Return the grids of an edition by the notebooks' parameters.

    ``grid_dir`` is the whole; ``published_dir`` has the data sets of the paper's Tables 1 and 2 at
    their level, or is the same; ``better_dir`` has every method, the same noise and fewer runs.
    """
    whole = published = GridSpec(
        epsilons=PAPER_EPSILONS if edition.epsilon is None else (edition.epsilon,),
        rhos=PAPER_RHOS if edition.rho is None else (edition.rho,),
        runs=edition.runs or PAPER_RUNS,
    )
    if PUBLISHED_EPSILON not in whole.epsilons:
        datasets = tuple(pd.read_csv(data_path("published_tables.csv"))["dataset"].unique())
        published = replace(whole, datasets=datasets, epsilons=(PUBLISHED_EPSILON,), rhos=())
    better = replace(whole, methods=tuple(METHODS), runs=min(whole.runs, BETTER_RUNS))
    return {"grid_dir": whole, "published_dir": published, "better_dir": better}


def compute_folders(
    chapters: Sequence[Chapter], edition: Edition, cache: Path, report: Callable[[str], None]
) -> tuple[dict[str, Path], dict[str, str]]:
    """Return the grids that notebooks read, by parameter, and what the book says of them.

    A grid is computed or found computed before; the name of its folder is its key.
    """
    paths, told = dict[str, Path](), dict[str, str]()
    wanted = {name for chapter in chapters for name in chapter.folders}
    for name, spec in grid_specs(edition).items():
        if name not in wanted:
            continue
        folder = cache / digest_json(manifest_of(spec))
        record, grid = folder.with_suffix(".json"), GridFolder(folder, spec)
        if folder.is_dir():
            grid.check_manifest()
        if not record.is_file() or not grid.complete:
            cache.mkdir(parents=True, exist_ok=True)
            report(f"computing {spec.fits:,} fits of the experiment grid")
            write_whole(record, json.dumps(_computed(spec, folder)))
        if folder not in paths.values():
            facts = json.loads(record.read_text(encoding="utf-8"))
            told |= {f"{FOLDERS[name]}: {k}": v for k, v in facts.items()}
        paths[name] = folder
    return paths, told


def _computed(spec: GridSpec, folder: Path) -> dict[str, str]:
    """Compute a grid into a folder and return what the book says of it."""
    result = run_grid(spec, folder, progress=sys.stderr.isatty())
    levels = [f"epsilon = {plain(e)}" for e in spec.epsilons]
    levels += [f"rho = {plain(r)}" for r in spec.rhos]
    return {
        "fits": f"{spec.fits:,}",
        "levels": ", ".join(levels),
        "runs": f"{spec.runs:,}",
        "seconds": f"{result.seconds:.0f}",
        "worst certificate": f"{result.errors['worst_certificate'].max():.1e}",
        "failures": str(int(result.errors["failures"].max())),
        "fits that the fast solvers missed": f"{conic_calls(result.errors):,}",
    }
