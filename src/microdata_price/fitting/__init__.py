"""The methods that turn noisy answers into tables."""

from .consensus import consensus_parts, fit_consensus
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
from .reweighted import Reweighting, Rules, fit_reweighted, reweighting
from .sequential import Stage, fit_sequential, sequential_stages
from .sequential_ols import fit_sequential_ols

__all__ = [
    "CONTROL",
    "METHODS",
    "REASON",
    "RECOMMENDED",
    "Fit",
    "Method",
    "Reweighting",
    "Rules",
    "Stage",
    "check_methods",
    "consensus_parts",
    "fit",
    "fit_consensus",
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
