"""Bad input is refused in one sentence that names it; no function puts out a number for it."""

import functools
import math

import numpy as np
import pytest

from microdata_price.base.numbers import at_least, check_whole, format_number, runs_within
from microdata_price.exceptions import InputError
from microdata_price.model.noise import Gaussian, Laplace, max_exceeds
from microdata_price.model.noise_asymmetric import AsymmetricGeometric, AsymmetricLaplace
from microdata_price.model.noise_discrete import DoubleGeometric, TruncatedDoubleGeometric
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.difficult import difficult_table
from microdata_price.theory.laws import signed
from microdata_price.theory.laws.outputs import clipped_law, log_clipped_law, output_pair
from microdata_price.theory.lower import gamma_bounds, validity, variants
from microdata_price.theory.lower import lower_bounds as lb
from microdata_price.theory.lower.lower_bounds import lower_bounds, point_error_bound
from microdata_price.theory.lower.printed_bounds import printed_point_error, printed_sum_error
from microdata_price.theory.lower.printed_branches import point_error_branches, sum_error_branches
from microdata_price.theory.lower.single_cells import single_cell_bounds
from microdata_price.theory.proofs import fano_walk, packing_walk
from microdata_price.theory.proofs.packing import Packing
from microdata_price.theory.proofs.slack import packing_slack
from microdata_price.theory.upper import asymmetric, leading_constant, remap, upper_bounds
from microdata_price.theory.upper import operating_points as op
from microdata_price.theory.upper.concentrated_noise import SmoothNoise, core_and_flanks
from microdata_price.theory.upper.exact_errors import clipped, clipped_sum
from microdata_price.theory.upper.extremes import extremes, lemma1
from microdata_price.theory.upper.fitted_errors import cell_errors, vanishing_chance
from microdata_price.theory.upper.one_sided import certified_split, split_sides
from microdata_price.theory.upper.projection import project, threshold
from microdata_price.theory.upper.reached import reached
from microdata_price.theory.upper.reports import Reports
from microdata_price.theory.upper.truncated_sampling import sampled_truncated
from microdata_price.theory.upper.truncation import joint_profile, profile, smallest_bound
from microdata_price.theory.upper.worst_table import certified_fit

PURE, LAPLACE = PureDP(1.0), Laplace(1.0)
CUT_DP, ZCDP = ApproximateDP(1.0, 1e-6), ConcentratedDP(0.5)
CUT = TruncatedDoubleGeometric(0.5, 8)
LAWS, NO_RANGES = (clipped_law, log_clipped_law), ((2.5, 9), (-1, 9), (3, 2.5), (3, 0))
TINY = DoubleGeometric(1e-6)
HUGE = packing_walk.clipped_packing(TINY, 10**4, 1e6)
NOT_FINITE, NO_ERRORS = (math.nan, math.inf), (-3.0, 0.0, math.nan)
GUARANTEES = PURE, ConcentratedDP(1.0)
first_above, sure = validity.first_above, functools.partial(certified_fit, even=True)
OF_ERRORS = sure, printed_point_error, printed_sum_error, point_error_branches, sum_error_branches
few_records = functools.partial(point_error_bound, max_records=3)
no_records = functools.partial(point_error_bound, "first_moment", PURE, 10, 1.0)
BAD = [
    *(("^d is .* from 2 to", runs_within, (9, d)) for d in (0, 1, 10**9)),
    *(("^runs is ", runs_within, (1, 10)), (": write it as 1000000$", check_whole, (1e6, "d"))),
    ("write it as 12$", difficult_table, (12.0, 0.5)),
    *(("must be finite", at_least, (bad,)) for bad in NOT_FINITE),
    *(("error to write", lambda s=s: format_number(1.0, se=s), ()) for s in (-1.0, *NOT_FINITE)),
    ("printed bound cannot", few_records, ("printed", PURE, 10, 1.0)),
    *(("max_records is", lambda m=m: no_records(max_records=m), ()) for m in (0, math.nan, "3")),
    ("first_moment", point_error_bound, ("first_moments", PURE, 10, 1.0)),
    *(("number of point queries", point_error_bound, ("printed", PURE, d, 1.0)) for d in (1, 2.5)),
    *(("number of point queries", extremes, (LAPLACE, d)) for d in (0, 1.5, "many", 10**400)),
    *(("threshold", first_above, ("printed", PURE, 1.0, t)) for t in (-1.0, math.nan)),
    ("number of point queries", lambda: lower_bounds(PURE, 10**251, sum_error=1.0), ()),
    ("largest d", first_above, ("printed", PURE, 1.0, 1.0, math.inf)),
    *(("bound", first_above, ("printd", PURE, 1.0)), ("n >= m >= 1", Packing, (5, 1, 2, 0.5, 1.0))),
    *(("other than 0", validity.sparse_point_error, (1.0, 10, n)) for n in (0.0, -1.0, math.inf)),
    ("sum error", variants.public_total_bound, (1.0, 10, -1.0)),
    *(("k", variants.placement_chance, (1.0, 10, m, 5.0, 1.0)) for m in (5, 5.5)),
    ("point error", variants.one_record_bound, (1.0, 10, -5.0)),
    ("sum error", point_error_bound, ("first_moment", PURE, 10, 1 + 2j)),
    ("number of point queries", gamma_bounds.gamma_sum_error, (0.1, -5, 1.0, 0.5)),
    ("gammas is empty", gamma_bounds.best_gamma_sum_error, (0.1, 100, 1.0, [])),
    ("number of point queries", clipped_sum, (LAPLACE, [0, 1], -1)),
    ("number of draws", max_exceeds, (LAPLACE, -1, 1.0)),
    ("runs", lambda: sampled_truncated(CUT, 10, runs=1), ()),
    *(("between 2", sampled_truncated, (CUT, 1)), ("right rate", AsymmetricLaplace, (0.0, 1.0))),
    ("left rate", AsymmetricGeometric, (1.0, math.inf)),
    ("between 0 and epsilon", asymmetric.certified_asymmetric, (1.0, 10, 1.0, 0.5)),
    ("more than sqrt", asymmetric.best_rates, (1.0, 10, math.sqrt(2))),
    *(("epsilon is", leading_constant.sum_wall, (e,)) for e in (-1, True, 0, "a", [1, math.nan])),
    *(("rate is", leading_constant.least_variance, x) for x in ((-1, 1), (1, 0), (math.nan, 1))),
    *(("count is", vanishing_chance, (LAPLACE, LAPLACE, 10, q)) for q in (-1, math.nan)),
    *(("epsilon is", f, (CUT, e)) for f in (profile, joint_profile) for e in (-1, *NOT_FINITE)),
    *(("is .*; it must be a whole", f, (TINY, *x)) for f in LAWS for x in NO_RANGES),
    *(("count is", output_pair, (g, math.nan)) for g in GUARANTEES),
    *(("number of places is", op.split, (PURE, 10, n)) for n in (0, 2.5)),
    *(("number of point queries is", signed.safe_count, (LAPLACE, d, 0.1)) for d in (0, 2.5, "a")),
    *(("^d is ", difficult_table, (d, 0.5)) for d in ("a", 2.5, 0, 10**400)),
    *(("sum error is", variants.approximate_corollary, (CUT_DP, 10, D)) for D in (0, -1, math.nan)),
    *(("theta", certified_split, (PURE, 10, theta)) for theta in (0.0, 1.0, math.nan)),
    *(("theta", split_sides, (PURE, 10, [0.5, 1.0])), ("2 or more", Packing, (1, 4, 2, 0.5, 1.0))),
    *(("knots must", SmoothNoise, g) for g in (((), ()), ((2.0, 1.0), (1.0, 1.0, 1.0)))),
    *(("knots must", SmoothNoise, ((1.0,), bends)) for bends in ((0.0, 0.0), (1.0, -1.0))),
    ("knots must", SmoothNoise, ((math.inf,), (1.0, 1.0))),
    ("between 0 and 1", core_and_flanks, (0.125, 1.0, 0.9, 8.0, 60.0)),
    *(("2 or more draws", lemma1, (Gaussian(1.0), 1)), ("0 or more", threshold, ([1.0], -1.0))),
    ("finite", threshold, ([1.0, math.nan], 1.0, 1.0)),
    ("at least one cell", threshold, ([], 1.0, 1.0)),
    *(("needed are", project, ([[1, 2], [3, 4]], t)) for t in (1, [1, 2, 3], [[1], [2]])),
    ("or unequal rows", project, ([[1, 2], [3]], [1.0, 2.0])),
    *(("weight", threshold, ([1.0], 1.0, weight)) for weight in (-1.0, math.nan)),
    *(("0 or more", clipped, (LAPLACE, [-1.0])), ("2 or more", cell_errors, (LAPLACE, LAPLACE, 1))),
    ("count is", cell_errors, (LAPLACE, LAPLACE, 5, -1.0)),
    ("weight", cell_errors, (LAPLACE, LAPLACE, 5, 0.0, -1.0)),
    ("both", cell_errors, (LAPLACE, Gaussian(1.0), 5)),
    ("no mechanism", leading_constant.leading_constant, (1.95, 0.5)),
    ("above a million", leading_constant.leading_constant, (1.958849046, 0.5)),
    ("above 1/2", leading_constant.needed_lambda, (0.5, 1.0)),
    ("0.001", lambda: leading_constant.needed_lambda(1.0, 1e-4, whole=True), ()),
    *(("above 2", leading_constant.cell_share, (2.0,)), ("cells", op.clipping, (PURE, 1))),
    ("weight", op.weighted_certified, (ConcentratedDP(1.0), 10, [-1.0])),
    *(("s must be 1", Reports, (1.0, 100.0, *x, 50.0)) for x in ((0.9, 0.02), (1.0, 0.07))),
    *(("error is", f, (g, 10, x)) for f in OF_ERRORS for g in GUARANTEES for x in NO_ERRORS),
    *(("error is", remap.map_at, (g, x)) for g in (PURE, ConcentratedDP(0.1)) for x in NO_ERRORS),
    ("epsilon", Reports, (0.0, 100.0, 1.0, 0.02, 50.0)),
    ("larger", Reports, (1.0, 10.0, 1.0, 0.05, 5.0)),
    ("ln nu", Reports, (1.0, 100.0, 1.0, 0.05, 2.0)),
    *(("delta", smallest_bound, (1.0, delta)) for delta in (0.0, 1.0, -1.0, math.nan)),
    ("chance", signed.safe_count, (LAPLACE, 5, 0.0)),
    ("runs", signed.sampled_signed, ([1, 2], PURE, 1, np.random.default_rng(0))),
    ("k = m - alpha C", Packing, (5, 4, 2, 1.0, 1.0)),
    ("would need", packing_walk.packing_odds, (TINY, HUGE)),
    ("cannot put out", fano_walk.cell_divergences, (TruncatedDoubleGeometric(1.0, 5), 9)),
]
BAD += [
    (words, functools.partial(function, **errors), (PURE, d))
    for function in (lower_bounds, reached)
    for words, d, errors in (
        *(("either the sum error", 10, e) for e in ({}, {"sum_error": 1.0, "point_error": 1.0})),
        *((f"sum error is {e}", 10, {"sum_error": e}) for e in (0, -1, math.nan, math.inf)),
        *((f"point error is {e}", 10, {"point_error": e}) for e in (0, -1, math.nan, math.inf)),
        ("point error is 1e-16; it must lie between", 10, {"point_error": 1e-16}),
        ("sum error is 1e.31; it must lie between", 10, {"sum_error": 1e31}),
        ("sum error is 1e-20; it must lie between", 10, {"sum_error": [1.0, 1e-20, 1e-21]}),
        *((r"\[1, 2\]; one number of", 10, {f"{e}_error": [1, 2]}) for e in ("sum", "point")),
        *(("number of ", d, {"sum_error": 1.0}) for d in (1, 0, -3, 2.5, math.nan, 10**400)),
    )
]
BOTH_ERRORS = lower_bounds, reached, single_cell_bounds
ONE_BOUND = point_error_bound, lb.sum_error_bound
# Of what takes a guarantee: one of the wrong kind, what is called with it, and what comes after it.
WITH_A_GUARANTEE = [
    *((CUT_DP, getattr(upper_bounds, f), 10) for f in ("certified", "exact_clipping")),
    *((CUT_DP, remap.map_at), (CUT_DP, output_pair, 5.0), (CUT_DP, certified_split, 10)),
    *((ZCDP, op.asymmetric, 10), (ZCDP, packing_slack, HUGE, None)),
    *((CUT_DP, sure, 10, 3.0), (PURE, variants.approximate_corollary, 10, 1.0)),
    *(("pure", functools.partial(f, sum_error=1.0), 10) for f in BOTH_ERRORS),
    *(("pure", functools.partial(f, "printed"), 10, 1.0) for f in ONE_BOUND),
    ("pure", functools.partial(validity.balanced_error, "printed"), 10),
    *(("pure", getattr(op, f), 10) for f in ("clipping", "mapped", "fitted", "split")),
]
BAD += [("must be .*DP", f, (g, *x)) for wrong, f, *x in WITH_A_GUARANTEE for g in (wrong, 1.0)]


@pytest.mark.parametrize(("words", "call", "given"), BAD)
def test_bad_input_is_one_sentence(words, call, given):
    with pytest.raises(InputError, match=words) as error:
        call(*given)
    assert "\n" not in str(error.value)
