"""Where the chapters of one method are asked: tables, levels and numbers of runs."""

from __future__ import annotations

import functools
from typing import Any

from sentences import EPSILONS, RHOS, cases

from microdata_price.studies.one_method import OneMethod

RUNS = 40


def asked(tiny: bool = False, **more: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the cases under pure DP, with a tiny epsilon if wanted, and those under zCDP."""
    pure = cases(
        dataset=("PUMA1304600", "Level00-1d", "Stair-2d", "Level16-1d"),
        privacy=("pure",),
        epsilon=(*EPSILONS, 1e-4) if tiny else EPSILONS,
        rho=(0.125,),
        **more,
    )
    first = {name: values[:1] for name, values in more.items()}
    zcdp = cases(dataset=("PUMA1304600",), privacy=("zcdp",), epsilon=(0.5,), rho=RHOS, **first)
    return pure, zcdp


@functools.cache
def at(findings: type[OneMethod], runs: int = RUNS, **given: Any) -> Any:
    """Return a chapter's findings at one case, computed once."""
    return findings.study(**given, runs=runs, seed=2)
