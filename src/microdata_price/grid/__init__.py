"""The paper's experiments, resumable: from a specification to two tidy tables."""

from ..exceptions import GridStoppedError
from .run import GridInterrupted, GridResult, evaluate, load_errors, load_queries, run_grid
from .spec import GridSpec

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
