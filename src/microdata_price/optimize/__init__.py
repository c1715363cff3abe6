"""Solvers for the one problem behind every method, and certificates for their answers."""

from .certificate import TOLERANCE, WORST_TOLERANCE, Certificate, certify
from .problem import Problem, Solution, Term

__all__ = [
    "TOLERANCE",
    "WORST_TOLERANCE",
    "Certificate",
    "Problem",
    "Solution",
    "Term",
    "certify",
]
