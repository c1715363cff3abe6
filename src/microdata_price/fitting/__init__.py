"""Methods that turn noisy answers into tables.

Each ``fit_*`` function takes `Measurements`, a batch of runs in counts with the query sets in order
of priority, and returns a `Fit`: cells of shape (runs, cells) with a certificate for each run. A
run that could not be solved is a `CertificateError` that names it.
"""

from .consensus import consensus_parts
from .fit import Fit
from .max_fitting import fit_max, max_distance
from .methods import (
    CONTROL,
    METHODS,
    REASON,
    RECOMMENDED,
    Method,
    check_methods,
    fit,
    microdata_methods,
    paper_methods,
)
from .nnls import fit_nnls
from .ols import fit_ols
from .reweighted import Rules, fit_reweighted, reweighting
from .sequential import fit_sequential, sequential_stages
from .sequential_ols import fit_sequential_ols

__all__ = [
    "CONTROL",
    "METHODS",
    "REASON",
    "RECOMMENDED",
    "Fit",
    "Method",
    "Rules",
    "check_methods",
    "consensus_parts",
    "fit",
    "fit_max",
    "fit_nnls",
    "fit_ols",
    "fit_reweighted",
    "fit_sequential",
    "fit_sequential_ols",
    "max_distance",
    "microdata_methods",
    "paper_methods",
    "reweighting",
    "sequential_stages",
]
