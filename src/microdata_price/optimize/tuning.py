"""The fast solver's constants that matter, each with the effect of doubling it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """Constants of the fast solver; none of them can make a wrong answer pass.

    An answer is judged by its certificate alone, so a bad constant costs time or a run that misses,
    never a number. "Miss" means the largest residual ``|F(y)|`` in units of `Boxed.scale`.
    Constants whose doubling changes nothing stand where they are used.
    """

    # A run with this miss is done. Doubled: certificates lose a factor of two.
    converged: float = 1e-11
    # The miss to which proximal steps lead hard large problems. Doubled: one of them less.
    approached: float = 1e-7
    # Steps without a halving of the miss after which a run is given up, near the end and before.
    # Doubled: hopeless runs take twice as long.
    stalled: int = 10
    stalled_early: int = 60
    # The same, after which equalities without a free cell are led to one. Doubled: three steps more
    # where that matters.
    patience: int = 3
    # Largest and smallest ridge, relative to the diagonal, on rows of the Newton matrix without a
    # weight of their own; in between it falls with the square of the miss in noises. Doubled:
    # contradicting equalities are left a little sooner, at the price of shorter steps.
    ridge: float = 1e-2
    least_ridge: float = 1e-14
    # Steps after which the ridge falls with the miss itself and a step hardly passes the zero of
    # the slope, which ends rounds in circles. Doubled: the few such runs do so longer.
    late: int = 20
    # Steps after which the ridge falls by a factor each, too. Doubled: tables not asked for their
    # cells, with counts of 1e8 noises, miss now and then; with a factor near 1 they often do.
    lost: int = 40
    ridge_fall: float = 0.75
    # A full step that leaves less than this part of the miss is taken as it is. Doubled: no line
    # search at all while the miss does not grow.
    halved: float = 0.5
    # The part of the slope at the start that a line search may leave, of either sign; ``hardly`` is
    # for the side beyond the zero, late. Doubled (to 1): any step that is not uphill will do.
    enough: float = 0.5
    hardly: float = 1e-3
    # A full step that leaves more than this part of the slope is lengthened. Doubled: never.
    too_near: float = 0.9
    # A proof of contradiction must exceed this part of its terms' sizes: rounding. Doubled:
    # contradictions that are smaller than 2e-11 of the counts are not seen.
    proof: float = 1e-11
    # The first proximal weight, over the weights. Doubled: one more step in two problems; a hundred
    # times smaller: Newton's method may lose its way where answers are held.
    proximal: float = 0.1
    # The certificate at which proximal steps end. Doubled: the last loses a factor of two.
    proximal_goal: float = 1e-10
    # Divides the proximal weight after each step. Doubled: fewer steps, less exact ones.
    proximal_fall: float = 4.0
    # A proximal step is solved to this part of the certificate before it. Doubled: a saving of
    # Newton steps, lost again where the proximal method waits for them.
    inexact: float = 1e-3
    # The residual that conjugate gradients leave of a Newton system, in the norm of their
    # preconditioner. Doubled: fewer products a Newton step, more Newton steps.
    forcing: float = 1e-2
    # Unknowns at most in a dense matrix, after elimination; conjugate gradients take over from
    # there. Doubled: eight times the time of a step that was slower than theirs already.
    dense_unknowns: int = 1000
    dense_entries: int = 25_000_000  # entries of any dense matrix at most: 200 MB. Doubled: 400 MB
    # Cells times runs, and entries of dense matrices, that are worked on at once, so that a block's
    # arrays stay in the cache. Doubled: slower by a tenth where they no longer do.
    block_cells: int = 1 << 17
    block_entries: int = 1 << 20


TUNING = Tuning()
"""The constants in use."""
