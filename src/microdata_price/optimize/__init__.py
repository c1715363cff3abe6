"""Solvers for the one problem behind every method, and certificates for their answers."""

from .certificate import TOLERANCE, WORST_TOLERANCE, Certificate, certify
from .problem import AnyTerm, Problem, Solution, SubsetSum, Term
from .solve import attempt, solve

__all__ = [
    "TOLERANCE",
    "WORST_TOLERANCE",
    "AnyTerm",
    "Certificate",
    "Problem",
    "Solution",
    "SubsetSum",
    "Term",
    "attempt",
    "certify",
    "solve",
]
