"""The paper's experiments, resumable: from a specification to two tidy tables."""

from .run import (
    GridInterrupted,
    GridResult,
    GridSpec,
    GridStoppedError,
    evaluate,
    load_errors,
    load_queries,
    run_grid,
)

__all__ = [
    "GridInterrupted",
    "GridResult",
    "GridSpec",
    "GridStoppedError",
    "evaluate",
    "load_errors",
    "load_queries",
    "run_grid",
]
