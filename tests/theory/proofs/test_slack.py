import math

import numpy as np
import pytest

from microdata_price.model.noise_discrete import DiscreteGaussian, DoubleGeometric
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.proofs import fano_walk, packing_walk
from microdata_price.theory.proofs.slack import fano_slack, packing_slack

CASES = [(0.5, 1000), (0.05, 300), (3.0, 1000), (10.0, 1000), (0.5, 2), (0.5, 50_000)]


@pytest.mark.parametrize(("epsilon", "d"), CASES)
def test_no_step_of_the_pure_proof_gains_and_all_add_up(epsilon, d):
    noise = DoubleGeometric(epsilon)
    packing = packing_walk.clipped_packing(noise, d, k=1 / epsilon)
    odds = packing_walk.packing_odds(noise, packing)
    slack = packing_slack(PureDP(epsilon), packing, odds)
    assert min(loss for _, loss in slack.lost) >= 0
    assert slack.allowed == pytest.approx(2 * packing.m * epsilon)
    C, D, k = packing.C, packing.D, packing.k
    asked = math.log(k * (d - 1) / (16 * C + 8 * D + 4 * k))
    assert slack.asked == pytest.approx(asked)
    group = 2 * packing.m * epsilon + math.log(odds.base / odds.own)
    assert dict(slack.lost)["group privacy"] == pytest.approx(group, abs=1e-9)


@pytest.mark.parametrize("delta", [1e-6, 1e-12, 1e-3])
@pytest.mark.parametrize(("epsilon", "d"), CASES[:5])
def test_nor_does_one_with_a_delta(epsilon, delta, d):
    guarantee = ApproximateDP(epsilon, delta)
    noise = packing_walk.truncated_cells(guarantee)
    packing = packing_walk.clipped_packing(noise, d, k=1 / epsilon)
    slack = packing_slack(guarantee, packing, packing_walk.packing_odds(noise, packing))
    assert min(loss for _, loss in slack.lost) >= 0
    assert slack.allowed == pytest.approx(2 * packing.m * epsilon)
    C, D, k = packing.C, packing.D, packing.k
    # The form with the minimum, as it stands in the proof.
    asked = math.log(min(k * (d - 1) / (4 * C + 2 * D + k), epsilon / delta) / 8)
    assert slack.asked == pytest.approx(asked)


@pytest.mark.parametrize(
    ("rho", "d"), [(0.125, 1000), (0.00125, 100), (4.5, 1000), (50, 20), (0.125, 2)]
)
def test_nor_does_fanos_up_to_its_sampling(rho, d):
    guarantee, noise = ConcentratedDP(rho), DiscreteGaussian(1 / (2 * rho))
    packing = packing_walk.clipped_packing(noise, d, k=1 / math.sqrt(rho))
    known = fano_walk.sampled_information(noise, packing, 300, np.random.default_rng(4))
    slack = fano_slack(guarantee, noise, packing, packing_walk.packing_odds(noise, packing), known)
    error = max(known.information[1], known.inside[1], known.outside[1], known.h_g[1])
    assert min(loss for _, loss in slack.lost) >= -5 * error - 1e-9
    assert slack.allowed == pytest.approx(4 * rho * packing.m**2)
    asked = math.log(d - 1) / 4 - math.log(packing.overlap) - math.log(2)
    assert slack.asked == pytest.approx(asked, abs=1e-9)
