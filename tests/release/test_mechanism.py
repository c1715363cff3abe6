"""What a mechanism guarantees: shares, neighbours, replacements, a public total."""

import json
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.exceptions import InputError
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload
from microdata_price.release import plan
from microdata_price.release.budget import ADDED, REPLACED
from microdata_price.release.mechanism import ROOT_OF_TWO, mechanism_for, mechanism_like
from microdata_price.release.plan import check_strength, plan_release, sharpest_std
from microdata_price.tables.schemas import parse_schema
from microdata_price.tables.workloads import parse_workload, split_shares

CUBE = (2,) * 6
SETS = [QuerySet.marginal(CUBE, a) for k in range(7) for a in combinations(range(6), k)]
ALL = Workload(tuple(SETS))  # all 64 marginals of six columns: answers that sharpen each other
TABLE = Workload.table((3, 2))
UNLIKE = Workload((*Workload.table(3).query_sets, QuerySet.from_labels([0, 1, 1], "first or not")))
"""Of the last set one answer is better known than the other."""


@pytest.mark.parametrize("guarantee", [PureDP(60.0), ConcentratedDP(30.0)])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("sets", [1, 2, 3, 39, 40, 41, 63, 64, 65, 100])
def test_no_move_of_a_record_loses_more_than_is_said(sets, known, guarantee):
    """All records added, and all pairs of cells, with any number of query sets; losses exact."""
    rng, cells = np.random.default_rng(sets), 5
    drawn = [np.unique(rng.integers(0, 3, cells), return_inverse=True)[1] for _ in range(sets - 1)]
    asked = [QuerySet.from_labels(labels, str(k)) for k, labels in enumerate(drawn)]
    asked.append(QuerySet.identity((cells,)))
    total = (QuerySet.sum_query((cells,)),) if known else ()
    workload = Workload((*total, *(q for q in asked if not known or q.size > 1)))
    level = type(guarantee)(guarantee.level * min(1.0, len(workload.query_sets) / 100))
    made = mechanism_for(workload, level, known_total=known)

    def loss(before, after):
        found = Fraction(0)
        for q, scale in zip(workload.query_sets, made.scales, strict=True):
            moved = np.abs(q.answers(before) - q.answers(after))
            if scale == 0:
                assert not moved.any()
            elif made.guarantee.kind == "pure":
                found += Fraction(int(moved.sum())) / Fraction(scale)
            else:
                found += Fraction(int((moved**2).sum())) / (2 * Fraction(scale) ** 2)
        return found

    one = np.eye(cells)
    replaced = max(loss(one[i], one[j]) for i, j in product(range(cells), repeat=2))
    assert replaced <= Fraction(made.replacement.level)
    assert made.guarantee.level <= level.level
    if known:
        assert (made.neighbours, made.replacement) == (REPLACED, made.guarantee)
    else:
        assert (made.neighbours, made.replacement) == (ADDED, made.guarantee.group(2))
        assert max(loss(0 * one[i], one[i]) for i in range(cells)) <= Fraction(made.guarantee.level)
    assert Fraction(ROOT_OF_TWO) ** 2 >= 2 > Fraction(np.nextafter(ROOT_OF_TWO, 0)) ** 2
    # Nothing is wasted: without the coarse sets, some replacement costs what is said.
    assert made.guarantee.level == pytest.approx(level.level, rel=1e-9)


@given(
    st.floats(1e-9, 3),
    st.sampled_from([PureDP, ConcentratedDP]),
    st.lists(st.floats(0.05, 0.3), max_size=3),
    st.lists(st.integers(1, 3), min_size=1, max_size=4),
)
def test_shares_are_what_each_set_spends_and_no_more_than_was_asked(level, kind, shares, sides):
    workload = Workload.table(tuple(sides))
    asked = kind(max(level, 1e-4) if kind is PureDP else min(level, 1.5))
    named = dict(zip(workload.names[:-1], shares, strict=False))
    made = mechanism_for(workload, asked, named)
    split = split_shares(workload, named)
    assert sum(split) == pytest.approx(1)
    for scale, share in zip(made.scales, split, strict=True):
        own = 1 / scale if made.guarantee.kind == "pure" else 1 / (2 * scale**2)
        assert own == pytest.approx(share * asked.level, rel=1e-12)
    assert (type(made.guarantee), min(made.variances) > 0) == (kind, True)
    assert asked.level * (1 - 1e-12) <= made.guarantee.level <= asked.level
    assert mechanism_like(workload, made.name, made.scales).guarantee == made.guarantee
    above = {n: s * (1 + 9e-10) for n, s in zip(workload.names, split, strict=True)}
    assert mechanism_for(workload, asked, above).guarantee.level <= asked.level


def test_nothing_but_a_total_can_be_public_and_something_else_must_be_asked():
    for alone in (QuerySet.identity(3), QuerySet.sum_query(3)):
        with pytest.raises(InputError, match="must ask for the sum and for something else"):
            mechanism_for(Workload((alone,)), PureDP(0.5), known_total=True)
    for level in (ApproximateDP(0.5, 1e-6), 0.5, "pure", None):
        for call in (plan.times, lambda guarantee: mechanism_for(Workload.table(3), guarantee)):
            with pytest.raises(InputError, match="the guarantee must be PureDP"):
                call(level)
    part = Workload((QuerySet.from_labels([0, 0, -1], "two of three"), QuerySet.identity(3)))
    for workload, scales in ((Workload.table(3), [2.0, 0.0]), (part, [0.0, 2.0])):
        with pytest.raises(InputError, match="only the total can"):
            mechanism_like(workload, "discrete Laplace", scales)
    for scales in ([2.0], [0.0, 0.0], *([2.0, s] for s in (np.nan, np.inf, -1.0))):
        with pytest.raises(InputError, match="needed is one of 0 or more for each"):
            mechanism_like(Workload.table(3), "discrete Laplace", scales)
    public = mechanism_for(TABLE, PureDP(1.0), {"identity": 0.5}, known_total=True)
    assert public.noise[0].std == pytest.approx(1e-3 * public.noise[-1].std, rel=1e-12)
    assert public.variances[0] == 0


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("guarantee", [PureDP(20.0), ConcentratedDP(2.0)])
@pytest.mark.parametrize("workload", [ALL, Workload.table((3, 4)), UNLIKE])
def test_protection_is_judged_by_all_answers_together(workload, guarantee, known):
    made = mechanism_for(workload, guarantee, known_total=known)
    # The standard deviation of each least-squares answer, from the normal equations alone.
    rows = np.vstack([q.matrix.toarray() for q in workload.query_sets])
    noise = np.repeat([n.variance for n in made.noise], [q.size for q in workload.query_sets])
    cover = rows @ np.linalg.inv(rows.T @ (rows / noise[:, None])) @ rows.T
    exact = np.sqrt(np.diag(cover)[1 if known else 0 :])
    assert sharpest_std(workload, made) == pytest.approx(exact.min(), rel=1e-6)


def test_what_is_told_without_being_asked_counts_as_well():
    """Eight columns tell the total better than themselves, five pairs a column, three the cells."""
    odd = [v for v in product("xy", repeat=3) if v.count("y") % 2]
    never = [dict(zip("abc", map(list, v), strict=True)) for v in odd]
    three = {"columns": {name: ["x", "y"] for name in "abc"}, "impossible": never}
    columns = {f"c{k}": ["x", "y"] for k in range(8)}
    impossible = [{"c3": ["x"], "c4": ["x"], "c5": ["x"]}]
    pairs = ", ".join(f"c0*c{k}" for k in range(1, 6))
    for asked, level, more in (
        ("marginals", ConcentratedDP(2.2), {}),
        *((pairs, PureDP(5.0), m) for m in ({}, {"impossible": impossible})),
        ("marginals", PureDP(3.2), three),
    ):
        schema = parse_schema(json.dumps({"columns": columns, **more}))
        with pytest.raises(InputError, match=r"of only 0.* records"):
            plan_release(schema, parse_workload(asked, schema), level)
        made = plan_release(schema, parse_workload(asked, schema), level, weak=True)
        assert "WEAK PROTECTION" in made.warnings[0]


def test_where_it_is_not_exact_protection_is_judged_from_below(monkeypatch):
    made = mechanism_for(ALL, PureDP(20.0))
    public = mechanism_for(ALL, PureDP(20.0), known_total=True)
    exact = [sharpest_std(ALL, m) for m in (made, public)]
    monkeypatch.setattr(plan, "signed_variances", lambda *_: [np.full(1, np.nan)])
    for mechanism, std in zip((made, public), exact, strict=True):
        assert 0 < sharpest_std(ALL, mechanism) <= std
    # As sharp as can be: cells that are asked alone, and two cells of which the total is public.
    for cells, known in (Workload((QuerySet.identity(3),)), False), (Workload.table(2), True):
        made = mechanism_for(cells, PureDP(4.0), known_total=known)
        assert sharpest_std(cells, made) == pytest.approx(made.noise[-1].std / np.sqrt(1 + known))


@pytest.mark.parametrize(
    ("workload", "guarantee", "weak", "said"),
    [
        (ALL, PureDP(84.0), True, "nothing is released"),  # 64 of 64 cells came out true
        (ALL, PureDP(30.0), False, "of only 0.* records.*--weak-protection"),
        (ALL, ConcentratedDP(12.0), True, "nothing is released"),
        (Workload.table((40, 40)), ConcentratedDP(1.99), False, "of only 0.* records"),
        (ALL, PureDP(14.0), False, "more than a million times likelier"),
        (TABLE, PureDP(81.0), True, "epsilon is 81, which would leave next to no noise"),
        (TABLE, PureDP(1e30), True, "next to no noise"),
        (TABLE, PureDP(1e-10), True, r"would need noise of 4e\+10 counts"),
        (TABLE, ConcentratedDP(1e-30), True, "more must be spent"),
    ],
)
def test_budgets_without_sense_are_refused_and_weak_ones_asked_for(workload, guarantee, weak, said):
    with pytest.raises(InputError, match=said):
        check_strength(workload, mechanism_for(workload, guarantee), weak)


def test_one_share_of_too_much_or_too_little_noise_is_refused():
    for level, said in ((1e-5, "need noise of 3e"), (20.0, "next to no noise")):
        with pytest.raises(InputError, match=said):
            mechanism_for(TABLE, PureDP(level), {"sum": 0.9})
    cells = Workload((QuerySet.identity(3),))  # at both limits noise is accepted
    scales = [mechanism_for(cells, PureDP(e)).scales[0] for e in (1e-6, 10.0)]
    assert scales == pytest.approx([1e6, 0.1], rel=1e-15)


def test_a_guarantee_without_meaning_is_warned_of_even_where_the_noise_is_large():
    made = mechanism_for(ALL, PureDP(14.0))
    assert sharpest_std(ALL, made) > 1
    check_strength(ALL, made, weak=True)
    assert "a million times likelier" in " ".join(plan.warnings_of(ALL, made))
    assert plan.warnings_of(ALL, mechanism_for(ALL, PureDP(10.0))) == []


@pytest.mark.parametrize("rho", [1e-4, 0.005, 0.5, 2.0])
def test_the_chance_of_an_outcome_likelier_than_told_is_one_in_a_million(rho):
    """Exactly, of one count's discrete Gaussian noise; (epsilon, delta) of sets does not do."""
    noise = np.arange(-2000, 2001)
    chances = np.exp(-rho * noise**2) / np.exp(-rho * noise**2).sum()
    loss = rho * np.abs(2 * noise + 1)  # of one record, which may count for either table
    assert chances[loss > np.log(plan.times(ConcentratedDP(rho)))].sum() <= plan.SHORT_DELTA
