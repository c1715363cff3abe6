"""The page of complete results: every value has its place, every link its label."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sentences import EPSILONS, RHOS, check_texts, numbers, says, texts

from microdata_price.exceptions import InputError
from microdata_price.figures.experiments_tables import at_a_glance, overview
from microdata_price.fitting import METHODS, paper_methods
from microdata_price.grid import evaluate
from microdata_price.model.benchmark import FAMILIES, data_set
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.studies import complete_results as page
from microdata_price.studies.experiments import QUERY_NAMES, experiments, priced

MICRO = [m for m in paper_methods() if m != "ols"]


def grid(epsilon: float, rho: float, runs: int = 10) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    pairs = [
        ("Level00-1d", PureDP(epsilon)),
        ("Level32-1d", PureDP(epsilon)),
        ("Stair-2d", PureDP(epsilon)),
        ("PUMA0101301", ConcentratedDP(rho)),
    ]
    frames = [evaluate(data_set(d), g, runs=runs, rng=rng).errors for d, g in pairs]
    return pd.concat(frames, ignore_index=True)


def found_at(epsilon: float, rho: float, runs: int = 10) -> page.Findings:
    values = priced(grid(epsilon, rho, runs))
    parts = page._parts(values)
    return page.Findings(values, parts[1])


@pytest.fixture(scope="module")
def found() -> page.Findings:
    return found_at(0.5, 0.125)


@pytest.mark.parametrize(("epsilon", "rho"), [*zip(EPSILONS, RHOS, strict=True)])
def test_every_sentence_is_whole_and_its_claims_hold(epsilon: float, rho: float) -> None:
    found = found_at(epsilon, rho, runs=6)
    said = list(texts(found).values())
    for part in found.parts:
        said += [c for _, _, c in part.tables]
        said += [part.glance.text, part.glance.alt]
    check_texts(said)
    v = found.values
    wins = dict.fromkeys(MICRO, 0)
    for _, row in v[v["query_set"].eq("sum")].groupby(["dataset", "level"]):
        errors = row.set_index("method")["value"]
        for m in MICRO:
            wins[m] += errors[m] == min(errors[k] for k in MICRO)
    best = [METHODS[m].title for m in MICRO if wins[m] == max(wins.values())]
    first = found.opening.split(" most often")[0]
    assert [m for m in (METHODS[k].title for k in MICRO) if m in first] == best
    assert numbers(found.opening)[:2] == [max(wins.values()), 4]
    for words, metric, name in (("sum", "total", "sum"), ("worst cell", "max", "identity")):
        own = v[v["query_set"].eq(name) & v["metric"].eq(metric)].set_index("dataset")
        signed = own.loc[own["method"].eq("ols"), "exact"]
        counts = [int((own.loc[own["method"].eq(m), "value"] > 2 * signed).sum()) for m in MICRO]
        told = found.opening.split(f"that of the {words} for" if words != "sum" else "OLS for")[1]
        assert numbers(told)[: len(MICRO)] == counts
    assert says(found.about_said, len(v))
    assert says(found.about_said, 6)


def test_a_failed_run_is_told(found: page.Findings) -> None:
    values = found.values.assign(failures=np.arange(len(found.values)) % 3)
    said = replace(found, values=values).about_said
    assert "Up to 2 runs" in said
    assert "No run is left out" not in said


def test_a_tie_on_the_sum_is_told_as_one(found: page.Findings) -> None:
    values = found.values.assign(best=found.values["method"].isin(["nnls", "maxfit"]))
    assert "NNLS and max fitting have the smallest" in replace(found, values=values).opening


def test_every_link_of_the_index_leads_somewhere(found: page.Findings) -> None:
    linked = re.findall(r"\(#(results-[^)]+)\)", found.index.to_csv())
    shown = [found.chosen, *(p for f in FAMILIES for p in found.rest(f))]
    assert sorted(p.number for p in shown) == list(range(1, len(found.parts) + 1))
    labels = [p.name for p in shown] + [name for p in shown for _, name, _ in p.tables]
    assert len(labels) == len(set(labels))
    assert set(linked) <= set(labels)
    assert len(linked) == sum(1 + len(p.query_sets) for p in found.parts)


def test_every_value_stands_in_one_table(found: page.Findings) -> None:
    written = [t.to_csv() for p in found.parts for t, _, _ in p.tables]
    assert sum(text.count("±") for text in written) == len(found.values)


def test_the_file_holds_every_row_to_six_digits(found: page.Findings) -> None:
    read = pd.read_csv(io.StringIO(found.csv()))
    assert list(read.columns) == list(page.COLUMNS)
    assert len(read) == len(found.values)
    assert read["value"].to_numpy() == pytest.approx(found.values["value"].to_numpy(), rel=1e-5)


def test_standing_counts_every_pair_once(found: page.Findings) -> None:
    pairs = found.values[["dataset", "privacy", "level"]].drop_duplicates()
    on_sum = found.standing[found.standing["query_set"] == "sum"]
    assert (on_sum["pairs"] == len(pairs)).all()
    assert len(on_sum) == len(MICRO)
    # Ties are counted for each, so there are at least as many winners as pairs.
    assert on_sum["best"].sum() >= len(pairs)


def test_the_readers_table_has_every_count(found: page.Findings) -> None:
    table = found.standing_table
    written = " ".join(table.drop(columns=["value", "pairs"]).to_numpy().ravel())
    assert len(table) == len(found.standing) // len(MICRO)
    told = [tuple(map(int, p)) for p in re.findall(r"\((\d+), (?:▲ )?(\d+)\)", written)]
    assert sorted(told) == sorted(
        zip(found.standing["best"], found.standing["beyond"], strict=True)
    )


def test_each_table_of_maxima_leads_to_the_chapter_on_them(found: page.Findings) -> None:
    for part in found.parts:
        for _, name, caption in part.tables:
            assert ("(max_bias.ipynb)" in caption) == name.endswith("-max")


def test_the_sentence_names_whom_the_marks_name(found: page.Findings) -> None:
    for part in found.parts:
        marked = part.rows[part.rows["query_set"].eq("sum") & part.rows["beyond"]]
        told = part.glance.text.split(";")[0]
        assert ("no method" in told) == marked.empty
        assert all(METHODS[m].title in told for m in marked["method"])


def test_the_experiment_to_open_is_chosen_or_the_ones_there_are_told() -> None:
    errors = pd.concat([grid(e, r, runs=2) for e, r in ((0.5, 0.125), (1.0, 0.5))])
    parts = page._parts(priced(errors))
    chosen = page._choose(parts, "1d", "pure", 0.5)
    assert (chosen.experiment.family, chosen.experiment.level) == ("1d", 0.5)
    assert page._choose(parts, "pums", "zcdp", None).experiment.privacy == "zcdp"
    with pytest.raises(InputError, match=r"the grid has: pure 1, pure 0\.5"):
        page._choose(parts, "1d", "pure", 0.3)
    with pytest.raises(InputError, match=r"the grid has: zcdp 0\.5, zcdp 0\.125"):
        page._choose(parts, "pums", "pure", None)
    with pytest.raises(InputError, match="pums"):
        page._choose(parts, "pumas", "pure", None)


def test_the_overview_has_a_panel_an_experiment_and_each_median(found: page.Findings) -> None:
    axes = overview(found.values).axes
    drawn = [ax for ax in axes if len(ax.lines) > 2]
    assert len(drawn) == len(found.parts)
    expected = found.values[found.values["method"].isin(MICRO)]
    for part, ax in zip(found.parts, [axes[0], axes[1], axes[5]], strict=True):
        own = expected[
            expected["family"].eq(part.experiment.family)
            & expected["level"].eq(part.experiment.level)
            & (
                expected["query_set"].eq("sum")
                | (expected["query_set"].eq("identity") & expected["metric"].eq("max"))
            )
        ]
        medians = own.groupby(["method", "query_set"])["price"].median()
        marks = [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 1]
        assert sorted(marks) == pytest.approx(sorted(medians))


def test_a_panel_a_kind_of_value_and_one_for_the_key(found: page.Findings) -> None:
    for e in experiments(found.values):
        axes = at_a_glance(e.rows(found.values)).axes
        titles = [ax.get_title(loc="left") for ax in axes if ax.get_title(loc="left")]
        assert titles[0] == QUERY_NAMES["sum"]
        assert len(titles) == (3 if e.family == "1d" else 5)
        assert len(axes) > len(titles)
