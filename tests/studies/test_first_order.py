"""The imitation: near the exact answers where its solver succeeds, and honest where it fails."""

import numpy as np
import pytest

from microdata_price.exceptions import InputError
from microdata_price.fitting import fit, max_distance
from microdata_price.model.benchmark import data_set
from microdata_price.model.measurement import measure
from microdata_price.model.privacy import PureDP
from microdata_price.model.workload import Workload
from microdata_price.studies.first_order import DISTANCE_SLACK, EQUALITY_SLACK, imitate


def measured(table, runs):
    return measure(
        table, Workload.table(np.shape(table)), PureDP(0.5), runs=runs, rng=np.random.default_rng(3)
    )


def test_sequential_is_near_the_exact_fit_where_it_succeeds():
    m = measured(data_set("Step50-2d").table, 4)
    found = imitate(m, "sequential")
    assert found.solved.any()
    exact = fit(m, "sequential").answers()
    ours = m.workload.answers(found.cells)
    # Each later stage may move an earlier answer by the slack.
    for a, b in zip(ours[:3], exact[:3], strict=True):
        assert np.abs(a - b)[found.solved].max() < 0.05
    assert np.abs(ours[0] - exact[0])[found.solved].max() < 2 * EQUALITY_SLACK


def test_max_fitting_is_near_the_exact_fit_where_it_succeeds():
    m = measured([5, 0, 3, 40], 6)
    found = imitate(m, "maxfit")
    assert found.solved.all()
    exact = fit(m, "maxfit")
    std = m.noise[0].std
    far = max(
        np.abs(a - b).max()
        for a, b in zip(m.workload.answers(found.cells), exact.answers(), strict=True)
    )
    assert far < 4 * DISTANCE_SLACK * std
    residual = np.max(
        [
            np.abs(a - b).max(axis=1)
            for a, b in zip(m.workload.answers(found.cells), m.answers, strict=True)
        ],
        axis=0,
    )
    assert (residual / std < max_distance(m).value + 2 * DISTANCE_SLACK).all()


def test_a_failed_run_names_its_stage():
    found = imitate(measured(data_set("Level00-2d").table, 12), "sequential")
    assert not found.solved.all()
    assert ((found.stages == 0) == found.solved).all()
    assert found.stages.max() <= 4


def test_an_unknown_method_is_refused():
    with pytest.raises(InputError, match="did you mean sequential"):
        imitate(measured([1, 2], 1), "sequentil")
