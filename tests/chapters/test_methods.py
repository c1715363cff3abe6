"""The methods on single tables: their texts, and what these say in another way."""

import math
import string

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from chapter_texts import EPSILONS, NOTEBOOKS, cases, filled, numbers, says
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from scipy import stats

from microdata_price.base.data import data_path
from microdata_price.base.numbers import Mean
from microdata_price.chapters import algorithms_in_detail, better_method, difficult_table
from microdata_price.chapters import five_methods as five
from microdata_price.chapters import your_own_table as own_table
from microdata_price.chapters.your_own_table import MEMBERS, PUBLIC
from microdata_price.errors.sums import answer_errors
from microdata_price.exceptions import InputError
from microdata_price.figures import own_table as own_figures
from microdata_price.fitting import METHODS, fit, fit_reweighted, microdata_methods, paper_methods
from microdata_price.grid.run import run_grid
from microdata_price.grid.spec import GridSpec
from microdata_price.model.benchmark import data_set
from microdata_price.model.measurement import measure
from microdata_price.model.noise import Gaussian, Laplace
from microdata_price.model.noise_discrete import DoubleGeometric
from microdata_price.model.privacy import ConcentratedDP, PureDP

DIFFICULT = cases(epsilon=(*EPSILONS, 20, 0.25), d=(1000, 20, 2, 10**5, 1000, 31))
FIVE, DETAIL = five.Findings(runs=400), algorithms_in_detail.Findings(runs=100)


def test_the_sum_s_ratios_are_those_of_the_simulated_sums():
    said, *more = filled("five_methods", runs=400)
    r, c = FIVE.case.table.shape
    ols = FIVE.noise.variance * r * c / ((r + 1) * (c + 1))
    for m, told in (("nnls", "sum is"), ("reweighted", "reweighted fitting")):
        assert f"{told} {FIVE.ratio(m)} times" in said
        plain = Mean.of((FIVE.cells[m].sum(axis=1) - 1386) ** 2 / ols)
        assert abs(FIVE.ratio(m).value - plain.value) < 4 * plain.error
        assert FIVE.ratio(m).error < plain.error
    assert says(next(t for t in more if "lies above the truth" in t), ols)  # each cell's as well
    # Sequential fitting's is exact: the integral of the squared error of max(0, n + z).
    law = stats.laplace(scale=FIVE.noise.std / 2**0.5)
    z = np.linspace(-3000, 3000, 600_001)
    exact = np.trapezoid((np.maximum(0, 1386 + z) - 1386) ** 2 * law.pdf(z), z)
    assert says(said, exact / ols)
    assert FIVE.sum_exact == pytest.approx(exact, rel=1e-5)


def test_where_no_constraint_binds_no_method_is_said_to_differ_from_least_squares():
    given = {"dataset": "Stair-1d", "privacy": "zcdp", "rho": 2.0, "runs": 40}
    assert "no difference that 40 runs can tell" in filled("five_methods", **given)[0]
    ratio = five.Findings(**given).ratio("nnls")
    assert abs(ratio.value - 1) < 1e-6 < 0.1 < ratio.error  # 40 runs tell little of the others


def test_each_waterfall_ends_where_its_steps_lead_and_nnls_between_two_errors():
    for method in paper_methods():
        *steps, end = FIVE.balances[method]
        assert sum(s.value for s in steps) == pytest.approx(end.value, abs=1e-9)
        for step, lifted in zip(steps, FIVE.lifted, strict=False):
            assert step.value == pytest.approx(lifted, abs=5 * step.error)
        inside, outside, total = FIVE.moved[method]
        assert inside.value + outside.value == pytest.approx(total.value, abs=1e-9)
    # NNLS settles between its errors in the sum and in the cells; sequential fitting does not.
    noisy = FIVE.case.measurements.answers[0][:, 0]
    assert FIVE.cells["sequential"].sum(axis=1) == pytest.approx(np.maximum(noisy, 0), abs=1e-6)
    assert (FIVE.cells["nnls"].sum(axis=1) > noisy).mean() > 0.95
    assert min(FIVE.cells[m].min() for m in FIVE.micro) >= 0


def test_one_number_comes_off_every_positive_cell():
    noisy = DETAIL.small_noisy
    for method, level in DETAIL.levels.items():
        kept = np.maximum(noisy[1:] - level, -math.inf if method == "ols" else 0)
        assert DETAIL.small[method][1:] == pytest.approx(kept, abs=1e-8)
    assert DETAIL.small["sequential"][0] == pytest.approx(noisy[0])
    # That of NNLS on the table is the sum of its aggregates' excess.
    m, answers = DETAIL.case.measurements, DETAIL.fits["nnls"].answers()
    sets = list(zip(m.workload.query_sets, answers, m.answers, m.variances, strict=True))
    level = sum(q.spread(x - a) * (m.variances[-1] / v) for q, x, a, v in sets[:-1])
    assert DETAIL.cells["nnls"] == pytest.approx(np.maximum(DETAIL.case.noisy - level, 0), abs=1e-8)
    _, _, measured, predicted, _ = DETAIL.growth
    assert [m.value for m in measured] == pytest.approx(list(predicted), rel=0.1)


@pytest.mark.parametrize(("noise", "law"), [(Laplace, stats.laplace), (Gaussian, stats.norm)])
def test_the_predicted_level_balances_what_cells_keep_and_lose(noise, law):
    g = algorithms_in_detail.balanced_level(noise(4.0), 500, 3)
    z = np.linspace(g, g + 200, 400_001)
    assert 500 * np.trapezoid((z - g) * law.pdf(z, scale=4), z) == pytest.approx(4 * g, rel=1e-6)


def test_the_order_of_priority_decides_what_is_exact_and_what_is_pinned_at_zero():
    rows, columns = (s.answers == 0 for s in DETAIL.stages[1:3])
    pinned = rows[:, :, None] | columns[:, None, :]
    assert DETAIL.pinned == pytest.approx(100 * pinned.mean())
    assert (DETAIL.cells["sequential"].reshape(pinned.shape)[pinned] == 0).all()
    cells_first = list(DETAIL.by_order.values())[-1]["sum"]
    assert cells_first.value == pytest.approx(DETAIL.clipped_sum, abs=5 * cells_first.error)
    said = filled("algorithms_in_detail", runs=20)
    assert says(next(t for t in said if t.startswith("With the cells first")), DETAIL.clipped_sum)


def test_low_answers_are_those_below_the_cutoff():
    answers, level, cut, _, _ = DETAIL.cutoff
    assert cut == min(np.sort(answers)[np.sort(answers) > level], default=np.inf)
    assert DETAIL.low[0] == (answers < cut).sum()
    said = " ".join(filled("algorithms_in_detail", dataset="Level32-2d", epsilon=8.0, runs=9))
    assert ("none of the runs is a cell low" in said, "below zero too" in said) == (True, False)
    off = fit_reweighted(DETAIL.case.measurements).cells - DETAIL.case.truth
    assert says(DETAIL.variants.iloc[0]["cells"], (off**2).sum(axis=1).mean(), 0.01)


@pytest.mark.parametrize("given", DIFFICULT, ids=str)
def test_the_difficult_table_s_headline_at_every_level(given, monkeypatch):
    monkeypatch.setattr(difficult_table, "runs_within", lambda *_: 39)  # where d is large
    found = difficult_table.Findings(**given, runs=40)
    said = filled("difficult_table", **given, runs=40)
    assert f"becomes {found.nnls_total}." in said[0]
    assert " ".join(said).count(" 39 ") >= 5  # each text that tells how many runs were made
    assert all(says(said[0], v) for v in (found.q, float(f"{found.emptied:.2g}")))
    # Who pays is read from the table: prices above 1 by two standard errors.
    rows = found.errors.set_index(["answers", "query"])["price"].map(numbers)
    for way, told in zip(("NNLS", "keep the sum"), said[8].split(", *"), strict=True):
        above = [p[0] - 2 * sum(p[1:]) > 1 for p in rows[way]]
        place = {(0, 0): "neither", (1, 0): "the cell", (0, 1): "the sum", (1, 1): "both"}
        assert f"in {place[*above]}" in told
    assert all(says(said[10], price) == (price > 0) for _, price in found.prices)
    page = (NOTEBOOKS / "difficult_table.ipynb").read_text(encoding="utf-8")
    told = [page.count("atched region"), *map(said[9].count, ("atched region", "star lies inside"))]
    assert told == [2, 2 * (found.edge[1].max() > 0), found.prices[0][1] > 1]
    assert 0 <= found.worst_certificate < 1e-7
    assert found.prices[0][1] <= found.marks[3][2]


@pytest.mark.parametrize("given", [{}, {"epsilon": 3.0}, {"d": 40, "runs": 4000}, {"times": 4.0}])
def test_runs_on_the_difficult_table_are_what_levels_and_exact_chances_say(given):
    found = difficult_table.Findings(**{"runs": 600} | given)
    signed, nnls, kept = found.ways
    for way, level in ((kept, found.simulated[6]), (nnls, nnls.total - signed.total)):
        np.testing.assert_allclose(way.cell, np.maximum(signed.cell - level, 0), atol=1e-6)
    np.testing.assert_allclose(kept.total, np.maximum(signed.total, 0), atol=1e-6)
    negative = 50 * (found.d - 1 + math.exp(-found.q * found.epsilon / 2)) / found.d
    assert found.negative == pytest.approx(negative)
    for way, chance in ((kept, found.emptied), (nnls, found.nnls_empty)):
        error = math.sqrt(chance * (100 - chance) / found.runs)
        assert abs(100 * np.mean(way.cell == 0) - chance) <= 5 * error


def test_known_roots_portions_and_the_price_below_what_is_reached(monkeypatch):
    """At 1,000 cells the first-moment bound is 1.71 signed errors, and 4.15 at a million."""
    found = difficult_table.Findings()
    for _, row in found.errors.dropna().iterrows():
        value, error = row["root error"].split(" ± ")
        assert len(row["exactly"]) == len(value)
        assert abs(float(value) - float(row["exactly"])) < 5 * float(error) + 0.01
    assert [math.floor(100 * p) / 100 for _, p in found.prices] == [1.71, 4.15]
    for name, x, y in found.marks[1:]:
        assert np.interp(x, *found.edge) <= y * (1 + 1e-9), name
    whole = difficult_table.Findings(d=50, runs=300)
    monkeypatch.setattr(difficult_table, "AT_ONCE", 500)  # portions change only the draws
    parts = difficult_table.Findings(d=50, runs=300)
    assert whole.simulated[0].size == parts.simulated[0].size == 300
    one, many = (Mean.of(f.simulated[6]) for f in (whole, parts))
    assert abs(one.value - many.value) <= 5 * math.hypot(one.error, many.error)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_texts_of_your_own_table_hold_at_every_level(epsilon):
    said = filled("your_own_table", epsilon=epsilon, runs=40)
    assert all(says(said[2], count) for count in (MEMBERS.sum(), (MEMBERS == 0).sum()))
    level = min(max(epsilon, own_table.LOWEST), own_table.HIGHEST)
    intervals = next(text for text in said if text.startswith("Each interval"))
    half, wide, count, each, at_once, _ = numbers(intervals)
    # One noisy answer: the least whole number that the noise exceeds with at most 10 %.
    law = DoubleGeometric(level / 4)
    assert 2 * float(law.sf(half)) <= 0.1 < 2 * float(law.sf(half - 1))
    assert (wide > half, count) == (True, 1 + 8 + 12 + 96)
    assert 0.75 * count < each <= at_once <= count
    assert says(next(t for t in said if t.startswith("The three folders")), 1.5 * level, rel=2e-3)
    worst = own_table.Findings("", "", "sum, marginals", epsilon, 40, 1).worst
    assert len({tuple(worst[name].str.contains("±")) for name in ("root error", "price")}) == 1
    with pytest.raises(InputError, match=r"'own\.json', without a table"):
        own_table.table_at("", "own.json")


@pytest.mark.parametrize("with_schema", [True, False])
def test_a_table_of_one_s_own_is_confidential(tmp_path, with_schema):
    path = tmp_path / "own.csv"
    if with_schema:
        PUBLIC.frame().assign(count=MEMBERS.ravel().astype(int)).to_csv(path, index=False)
        (tmp_path / "own.schema.json").write_text(PUBLIC.to_json())
    else:  # also with names that would be formulas and tags
        names = ["$0 to $9", "<i>$%^$</i>", *PUBLIC.values[1][2:]]
        frame = pd.DataFrame(MEMBERS.astype(int), PUBLIC.values[0], names)
        frame.to_csv(path, index_label="branch")
    said = filled("your_own_table", table=str(path), runs=10)
    assert "confidential" in said[0]
    assert says(said[2], MEMBERS.sum())
    public, truth = own_table.table_at(str(path), "")
    figure = own_figures.counts(truth, public)
    figure.draw_without_rendering()
    assert tuple(t.get_text() for t in figure.axes[0].get_xticklabels()) == public.values[1]


@given(st.text(string.punctuation + "a1", min_size=1))
def test_names_of_a_table_are_shown_as_they_are(text):
    page = BeautifulSoup(MarkdownIt().render(f"x {own_table.literal(text)}"), "html.parser")
    assert (page.get_text(), len(page.find_all())) == (f"x {text}\n", 1)


def rows(values):
    """Errors of two data sets by method, with one query set and level."""
    same = {"family": "1d", "privacy": "pure", "level": 0.5, "query_set": "identity"}
    same |= {"metric": "total", "standard_error": 0.3, "exact": np.nan, "se_cv": np.nan}
    return pd.DataFrame(
        same | {"dataset": name, "method": method, "value": value, "estimate_cv": np.nan}
        for name, own in values.items()
        for method, value in own.items()
    )


def test_averages_are_compared_not_tables():
    four = {"nnls": 4.0, "maxfit": 6.0, "sequential": 8.0, "reweighted": 1.0, "consensus": 3.0}
    errors = rows({"one": four, "two": four | {"reweighted": 11.0}})
    found = better_method.ratios(errors, "consensus").iloc[0]
    # NNLS has the smallest average, 4, though reweighted fitting has the smallest error of all.
    assert (found["ratio"], found["best"]) == (0.75, "nnls")
    # Each average of two has the standard error 0.3 / sqrt 2.
    assert found["error"] == pytest.approx(0.75 * np.hypot(0.3 / 3, 0.3 / 4) / np.sqrt(2))
    single = better_method.ratios(errors, "consensus", ["dataset", "query_set"])
    assert single["ratio"].tolist() == [3.0, 0.75]


def test_the_better_method_s_headline_says_what_the_grid_found(tmp_path):
    spec = GridSpec.choose(epsilon=[3.0], methods=tuple(METHODS), runs=3, seed=5)
    errors = run_grid(spec, tmp_path, workers=1).errors
    said = filled("better_method", better_dir=str(tmp_path), epsilons=[3.0], rhos=[], runs=3)
    four = list(microdata_methods(paper_methods()))
    sharp = errors["se_cv"].notna() & errors["metric"].eq("total") & errors["estimate_cv"].ge(0)
    best_known = errors["estimate_cv"].where(sharp, errors["value"])
    errors = errors.assign(known=errors["exact"].fillna(best_known))
    own = errors.query("metric == 'total' and query_set != 'sum'")
    mean = own.groupby(["family", "query_set", "method"])["known"].mean().unstack()
    ratio = mean["consensus"] / mean[four].min(axis=1)
    assert says(said[0], ratio.max())
    assert says(said[0], ratio.mean(), 0.02)
    of_all = errors.query("metric == 'total'")  # of the sum, too
    wide = of_all.pivot(index=["dataset", "query_set"], columns="method", values="known")
    above = wide["consensus"] > 1.1 * wide[four].min(axis=1)
    told = next(text for text in said if "on that very table" in text)
    assert numbers(told)[:2] == [above.sum(), above.size]
    parts = better_method.Findings(runs=20).parts
    assert parts["average"].value - parts["apart"].value == pytest.approx(parts["cells"][-1].value)


@pytest.mark.parametrize("guarantee", [PureDP(0.5), ConcentratedDP(0.125)])
@pytest.mark.parametrize("name", ["Stair-1d", "PUMA0101301"])
def test_the_oracle_s_error_is_that_of_the_posterior_mean(guarantee, name):
    data, rng = data_set(name), np.random.default_rng(1)
    m = measure(data.table, data.workload, guarantee, runs=2000, rng=rng)
    noisy, truth, noise = m.answers[-1], data.table.ravel(), m.noise[-1]
    above, below = np.zeros_like(noisy), np.zeros_like(noisy)
    for count, n in zip(*np.unique(truth, return_counts=True), strict=True):
        away = np.abs(noisy - count) / noise.std
        weight = n * np.exp(-(away**2) / 2 if guarantee.norm == 2 else -np.sqrt(2) * away)
        above, below = above + weight * count, below + weight
    square = ((above / below - truth) ** 2).sum(axis=1)
    error = square.std() / 2000**0.5
    assert better_method.oracle(data, guarantee) == pytest.approx(square.mean(), abs=5 * error)


def test_mbi_saw_the_noise_that_is_drawn_here():
    kept = pd.read_csv(data_path("peers.csv")).query("method == 'fixed-total' & metric == 'total'")
    kept = kept.set_index(["dataset", "query_set"])["value"]
    name, peers = "PUMA0101301", better_method.PEERS
    data, rng = data_set(name), np.random.default_rng([peers["seed"], *name.encode()])
    m = measure(data.table, data.workload, PureDP(0.5), runs=peers["runs"], rng=rng)
    f = better_method.held_total(m)
    assert f.answers()[0] == pytest.approx(np.maximum(fit(m, "ols").answers()[0], 1), abs=1e-6)
    errors = answer_errors(f.cells, data.table, data.workload)
    for query_set, e in zip(data.workload.names, errors, strict=True):
        assert (e**2).sum(axis=1).mean() == pytest.approx(kept[name, query_set], rel=1e-5)
