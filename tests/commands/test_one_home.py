"""A fact has one home: what is added there, from outside, is known to every command and page."""

import json
from dataclasses import replace

import numpy as np
import pytest

from command_line import run
from microdata_price.chapters.experiments import experiments, levels, priced
from microdata_price.explorer.build import own_colours
from microdata_price.figures.experiments_price import bias_shares
from microdata_price.figures.experiments_tables import overview
from microdata_price.fitting import METHODS, Method, fit_nnls
from microdata_price.grid import load_errors
from microdata_price.model.benchmark import FAMILIES, SYNTHETIC, Family
from microdata_price.theory.lower.lower_bounds import BOUNDS, Bound
from microdata_price.theory.lower.printed_bounds import Printed


def _grid(capsys, out, *options):
    asked = ["--epsilon", "0.5", "--runs", "20", "--workers", "1", "--quiet", "--out"]
    assert run(capsys, "grid", *options, *asked, out)[0] == 0
    return load_errors(out)


def test_a_method_is_a_function_and_a_record(tmp_path, monkeypatch, capsys):
    def fit_doubled(m):
        fitted = fit_nnls(m)
        return replace(fitted, method="doubled", cells=2 * fitted.cells)

    record = Method("doubled", fit_doubled, "doubled fitting", "#123456", "v", ":")
    monkeypatch.setitem(METHODS, record.name, record)
    asked = ["--dataset", "Stair-1d", "--methods", "ols,nnls,doubled"]
    found = priced(_grid(capsys, tmp_path, *asked))
    sums = found[found["query_set"] == "sum"].set_index("method")["value"]
    assert sums["doubled"] > 4 * sums["nnls"]  # The sum of 6,000 records is published twice.
    axis = overview(found[found["method"] != "ols"], levels(found)).axes[0].yaxis
    assert [t.get_text() for t in axis.get_ticklabels()] == ["NNLS", "doubled fitting"]


def test_a_bound_is_a_function_and_a_record(monkeypatch, capsys):
    def tenth(guarantee, d, given, **_):
        return Printed(BOUNDS["first_moment"].point_error(guarantee, d, given).value / 10, d * 0)

    record = Bound("tenth", tenth, tenth, "a tenth", "#123456", ":", "a tenth of the best", "no m")
    monkeypatch.setitem(BOUNDS, record.name, record)
    asked = "bounds --privacy approximate --epsilon 0.5 --delta 1e-6 --points 1000000 --sum-error 6"
    assert "a tenth of the best" in run(capsys, *asked.split())[1]
    document = json.loads(run(capsys, *asked.split(), "--json")[1])
    assert document["tenth"] == pytest.approx(document["first_moment"] / 10)
    assert ".tenth { --own: #123456; }" in own_colours()


def test_a_data_set_is_a_line_and_a_family_a_record(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(SYNTHETIC, "Level05", lambda place: np.full(place.size, 5.0))
    cubes = Family(
        "3d", "Cubes of 8 cells", "2 × 2 × 2", "v", "▽", lambda: {"Cube": np.full((2, 2, 2), 9.0)}
    )
    monkeypatch.setitem(FAMILIES, cubes.name, cubes)
    found = priced(_grid(capsys, tmp_path, "--dataset", "Level05-1d,Level05-2d,Cube"))
    assert list(dict.fromkeys(found["dataset"])) == ["Level05-1d", "Level05-2d", "Cube"]
    assert [e.family for e in experiments(found)] == ["1d", "2d", "3d"]
    rows = found[found["family"] == "3d"]
    assert overview(rows, levels(rows)).axes[0].get_title(loc="left") == "2 × 2 × 2"
    assert "▽: 2 × 2 × 2" in bias_shares(rows.assign(share=0.5), {"sum": "sum"}).get_supxlabel()
