"""What a mechanism guarantees: shares, neighbours, replacements, a public total."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.exceptions import InputError
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload
from microdata_price.release.mechanism import (
    ADDED,
    REPLACED,
    mechanism_for,
    mechanism_like,
    split_shares,
    worst_record,
    worst_replacement,
)

GUARANTEES = (PureDP(0.5), ConcentratedDP(0.1))


@pytest.mark.parametrize(
    ("shape", "factor"), [((9, 24), 1.5), ((3, 4, 5), 1.6), ((2, 3, 2, 2), 5 / 3)]
)
@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_replacing_a_record_costs_what_its_two_steps_do(shape, factor, guarantee):
    made = mechanism_for(Workload.table(shape), guarantee)
    assert made.neighbours == ADDED
    assert made.replacement_exact
    assert made.replacement.level == pytest.approx(factor * guarantee.level, rel=1e-12)


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_one_marginal_alone_costs_double(guarantee):
    made = mechanism_for(Workload((QuerySet.marginal((3, 4), (0,)),)), guarantee)
    assert made.replacement.level == pytest.approx(2 * guarantee.level, rel=1e-12)


def workloads():
    labels = st.lists(st.integers(-1, 2), min_size=5, max_size=5)
    return st.lists(labels, min_size=1, max_size=4)


@given(workloads(), st.integers(0, 10**6))
def test_worst_cases_are_those_of_all_records(drawn, seed):
    sets = []
    for k, labels in enumerate(drawn):
        found = np.unique(labels, return_inverse=True)[1] - (1 if -1 in labels else 0)
        if found.max() >= 0:
            sets.append(QuerySet.from_labels(found, str(k)))
    if not sets:
        return
    workload = Workload(tuple(sets))
    rng = np.random.default_rng(seed)
    ones = [Fraction(int(v), 97) for v in rng.integers(1, 90, len(sets))]
    twos = [2 * v for v in ones]

    def loss(i, j):
        total = Fraction(0)
        for q, one in zip(sets, ones, strict=True):
            before, after = q.answers(np.eye(5)[i]), q.answers(np.eye(5)[j])
            total += one * int(np.abs(before - after).sum())
        return total

    record = max(
        sum((v for q, v in zip(sets, ones, strict=True) if q.labels[i] >= 0), Fraction(0))
        for i in range(5)
    )
    assert worst_record(workload, ones) == record
    worst = max(loss(i, j) for i, j in product(range(5), repeat=2))
    assert worst_replacement(workload, ones, twos) == (worst, True)


@given(
    st.lists(st.floats(0.05, 0.3), min_size=1, max_size=3),
    st.sampled_from([PureDP(1.0), PureDP(0.3), ConcentratedDP(0.4)]),
)
def test_shares_are_what_each_query_set_spends(shares, guarantee):
    workload = Workload.table((3, 4))
    named = dict(zip(workload.names, shares, strict=False))
    made = mechanism_for(workload, guarantee, named)
    split = split_shares(workload, named)
    assert sum(split) == pytest.approx(1)
    for scale, share in zip(made.scales, split, strict=True):
        own = 1 / scale if made.pure else 1 / (2 * scale**2)
        assert own == pytest.approx(share * guarantee.level, rel=1e-9)
    assert guarantee.level * (1 - 1e-9) <= made.guarantee.level <= guarantee.level
    assert mechanism_like(workload, made.name, made.scales).guarantee == made.guarantee


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"summ": 0.5}, "did you mean sum"),
        ({"sum": 1.5}, "above 0, at most 1"),
        ({"sum": 0.0}, "above 0, at most 1"),
        ({"sum": 1.0}, "add up to 1"),
        ({"sum": 0.5, "marginal1": 0.6}, "add up to 1.1"),
    ],
)
def test_shares_without_sense_are_refused(shares, message):
    with pytest.raises(InputError, match=message):
        mechanism_for(Workload.table((3, 4)), PureDP(1.0), shares)


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_public_total_leaves_the_guarantee_for_replacements(guarantee):
    made = mechanism_for(Workload.table((3, 4)), guarantee, known_total=True)
    assert made.neighbours == REPLACED
    assert made.scales[0] == 0
    assert made.variances[0] == 0
    assert made.guarantee == made.replacement
    assert made.guarantee.level == pytest.approx(guarantee.level, rel=1e-9)
    # Three sets in which a replaced record changes two answers each.
    own = [1 / s if made.pure else 1 / (2 * s**2) for s in made.scales[1:]]
    assert 2 * sum(own) == pytest.approx(guarantee.level, rel=1e-9)
    with pytest.raises(InputError, match="must ask for the sum and for something else"):
        mechanism_for(Workload((QuerySet.identity(3),)), guarantee, known_total=True)


def test_nothing_but_a_total_can_be_public():
    with pytest.raises(InputError, match="only the total can"):
        mechanism_like(Workload.table(3), "discrete Laplace", [2.0, 0.0])
    with pytest.raises(InputError, match="needed is one of 0 or more for each"):
        mechanism_like(Workload.table(3), "discrete Laplace", [2.0])
