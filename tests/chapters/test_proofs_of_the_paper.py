"""Proofs of the paper: the sides of inequalities in another way."""

import math

import numpy as np
import pytest
from chapter_texts import DELTAS, EPSILONS, RHOS, cases
from scipy import integrate, stats

from microdata_price.chapters.proofs_of_the_paper import Findings

CASES = cases(epsilon=EPSILONS, rho=RHOS, delta=DELTAS, d=(1000, 2, 10**4))


@pytest.mark.parametrize("given", CASES[::2], ids=str)
def test_what_the_steps_lose_adds_up_to_what_is_allowed(given):
    found = Findings(runs=60, **given)
    epsilon, rho, delta, d = (given[k] for k in ("epsilon", "rho", "delta", "d"))
    pure, cut, zcdp = found.slacks
    p, q, g = found.pure_walk[0], found.cut_walk[0], found.zcdp_walk[0]
    K = [(4 * x.C + 2 * x.D + x.k) / x.k for x in (p, q, g)]
    asked = (
        math.log((d - 1) / (4 * K[0])),
        math.log(min((d - 1) / K[1], epsilon / delta) / 8),
        math.log(d - 1) / 4 - math.log(K[2]) - math.log(2),
    )
    allowed = 2 * epsilon * p.m, 2 * epsilon * q.m, rho * (2 * g.m) ** 2
    for slack, low, high in zip((pure, cut, zcdp), asked, allowed, strict=True):
        assert slack.asked == pytest.approx(low, abs=1e-6)
        assert slack.allowed == pytest.approx(high, abs=1e-6)
    assert min(loss for slack in (pure, cut) for _, loss in slack.lost) >= -1e-9


@pytest.mark.parametrize("rho", RHOS)
def test_conversions_by_hand(rho):
    simple, sharper, exact = Findings(rho=rho, delta=1e-6).conversions
    assert simple == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1e6)))
    assert exact <= sharper < simple
    mu = math.sqrt(2 * rho)
    tail = math.exp(exact + stats.norm.logsf(exact / mu + mu / 2))
    assert stats.norm.sf(exact / mu - mu / 2) - tail == pytest.approx(1e-6, rel=1e-3)


def test_printed_inequalities_fail_where_it_is_said():
    assert all(left < right for left, right in Findings().slips)
    z = np.arange(-40, 41)
    law = np.exp(-50.0 * z**2)
    law /= law.sum()
    C, excess, d, k = math.sqrt(law @ z**2), law @ np.maximum(z, 0), 1e12, 0.01
    D = math.sqrt(max(d * C**2 / 2 + d * (d - 1) * excess**2, d * C**2))
    right = math.log2(d - 1) / 4 - math.log2((4 * C + 2 * D + k) / k) - 1
    assert Findings().slips[1] == pytest.approx([50 * (4 * C + 2 * k) ** 2, right])


@pytest.mark.parametrize("d", [2, 1000])
def test_the_chain_begins_and_ends_at_what_integrals_say(d):
    found, b = Findings(d=d, runs=300), 4.0
    tails = [
        integrate.quad(lambda t, p=p: p * t ** (p - 1) * (1 - (1 - math.exp(-t)) ** d), 0, 80)[0]
        for p in (1, 2)
    ]
    end = b**2 * (2 + 4 * tails[0] + 4 * tails[1])
    *_, lemma = (loss for _, loss in found.chain.lost)
    assert found.chain.allowed - lemma == pytest.approx(end, rel=1e-6)
    assert min(loss for _, loss in found.chain.lost) > 0
    assert found.two_errors[1] == pytest.approx(b**2 * tails[1], rel=1e-6)
