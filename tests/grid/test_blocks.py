"""What a grid consists of, and its blocks: streams, paired noise, prefixes, certificates."""

import dataclasses
import importlib

import numpy as np
import pandas as pd
import pytest

from microdata_price.exceptions import CertificateError, InputError
from microdata_price.fitting import METHODS, fit
from microdata_price.grid import blocks as gb
from microdata_price.grid.spec import GridSpec, Pair, check_workers, processors
from microdata_price.grid.tables import conic_calls, pair_rows
from microdata_price.model.benchmark import data_set, names
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.workload import Workload
from microdata_price.optimize import Certificate

PAIR, RHO = Pair("SplitStairs-2d", PureDP(0.5)), Pair("Stair-1d", ConcentratedDP(0.125))


def test_streams_and_files_differ_by_data_set_kind_level_seed_and_block():
    tables = ("Stair-1d", "Stair-2d", "PUMA0101301")
    levels = (PureDP(0.5), PureDP(0.125), ConcentratedDP(0.5), ConcentratedDP(0.125))
    pairs = [Pair(d, g) for d in tables for g in levels]
    pairs.append(Pair("Stair-1d", PureDP(np.nextafter(0.5, 1))))  # printed like another
    first = {gb.stream(p, s, b).random() for p in pairs for s in (0, 1) for b in (0, 1)}
    assert len(first) == len(pairs) * 4
    assert len({gb.Task(p, ("ols",), 0, b, 1).key for p in pairs for b in (0, 1)}) == 26
    assert gb.stream(PAIR, 7, 3).random() == gb.stream(PAIR, 7, 3).random()


def test_blocks_cover_the_runs_once_and_are_small_for_large_tables():
    for runs in (1, 249, 250, 251, 1000):
        blocks = gb.tasks_of(PAIR, ("ols",), runs, 0)
        assert sum(b.runs for b in blocks) == runs
        assert [b.block for b in blocks] == list(range(len(blocks)))
        assert all(b.runs == 250 for b in blocks[:-1])
    assert [gb.block_size(Workload.table(n)) for n in (1, 10**6)] == [250, 1]


def spoil(proof, runs, gap):
    worse = proof.gap.copy()
    worse[runs] = gap
    return Certificate(proof.primal, proof.dual, worse)


@pytest.mark.parametrize(
    ("run", "gap", "pair", "said"),
    [
        (17, 1e-3, PAIR, r"SplitStairs-2d at epsilon 0\.5, method maxfit, run 268: .*1.0e-0"),
        (0, np.nan, PAIR, "method maxfit, run 251: "),
        (3, None, RHO, r"Stair-1d at rho 0\.125, method maxfit, runs 251 to 280: .*run 3$"),
    ],
)
def test_a_missed_certificate_names_its_place(monkeypatch, run, gap, pair, said):
    def fits(m, method):
        found = fit(m, method)
        if method != "maxfit":
            return found
        if gap is None:
            raise CertificateError(f"run {run}")
        return dataclasses.replace(found, certificate=spoil(found.certificate, [run], gap))

    monkeypatch.setattr(gb, "fit", fits)
    with pytest.raises(CertificateError, match=said):
        gb.run_block(gb.Task(pair, tuple(METHODS), 0, 1, 30))


def test_how_often_the_conic_solver_was_asked_is_counted(monkeypatch):
    door = importlib.import_module("microdata_price.optimize.solve")
    pair = Pair("Level00-1d", PureDP(0.5))
    task = gb.Task(pair, ("nnls",), 0, 0, 10)
    assert gb.run_block(task).conic == {"ols": 0, "nnls": 0}
    fast = door.attempt

    def spoilt(*args, **kwargs):
        solution, proof = fast(*args, **kwargs)
        return solution, spoil(proof, slice(3), 1.0)

    monkeypatch.setattr(door, "attempt", spoilt)
    rows, _ = pair_rows(data_set(pair.dataset), pair.guarantee, ("ols", "nnls"), gb.run_block(task))
    assert {(r["method"], r["conic_calls"]) for r in rows} == {("ols", 0), ("nnls", 3)}
    assert conic_calls(pd.DataFrame(rows)) == 3


def test_the_defaults_are_the_papers_and_choices_have_one_order():
    spec = GridSpec()
    assert (len(spec.pairs), spec.fits) == (186, 930_000)
    assert (spec.epsilons, spec.rhos) == ((1.0, 0.5, 0.1), (0.5, 0.125, 0.005))
    assert spec == GridSpec.choose()
    # What is asked for is chosen in one order.
    one = GridSpec(("Stair-2d", "Stair-1d"), (0.5, 1, 0.5), (), ("nnls", "ols"), 10)
    assert one == GridSpec(("Stair-1d", "Stair-2d"), (1.0, 0.5), (), ("ols", "nnls", "ols"), 10)
    choose = GridSpec.choose
    # Giving one kind of level leaves the other out.
    assert choose(epsilon=[2]).guarantees == (PureDP(2.0),)
    assert choose(rho=[2]).guarantees == (ConcentratedDP(2.0),)
    both = choose(rho=[2], epsilon=[3, 1]).guarantees
    assert both == (PureDP(3.0), PureDP(1.0), ConcentratedDP(2.0))
    assert choose("pums").datasets == names("pums")
    assert choose(["2d", "1d"]).datasets == names("1d") + names("2d")
    assert choose("2d", datasets=["Stair-2d"]).datasets == ("Stair-2d",)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        *(({"family": "3d"}, "there is no family '3d'"), ({"rho": ["half"]}, "rho is 'half'")),
        ({"datasets": ["PUMA101301"]}, "there is no data set 'PUMA101301'; did you mean PUMA"),
        ({"family": "1d", "datasets": ["Stair-2d"]}, "'Stair-2d' is not of the family 1d"),
        ({"methods": ["nlns"]}, "there is no method 'nlns'; did you mean nnls"),
        ({"epsilon": [0.0]}, "epsilon is 0; it must be a positive"),
        ({"runs": 0}, "runs is 0; it must be a whole number from 1 to"),
        ({"seed": -1}, "seed is -1; it must be a whole number from 0"),
        *(({"datasets": ()}, "no data set is named"), ({"methods": ()}, "no method is named")),
        ({"epsilons": (), "rhos": ()}, "no privacy level is given"),
    ],
)
def test_bad_input_is_one_clear_sentence(asked, message):
    with pytest.raises(InputError) as caught:
        (GridSpec if () in asked.values() else GridSpec.choose)(**asked)
    assert (message in str(caught.value), "\n" in str(caught.value)) == (True, False)


def test_workers_are_as_many_as_asked_for_or_as_processors():
    assert check_workers(None) == processors() >= 1
    assert check_workers(4 * processors()) == 4 * processors()
    for workers in (0, -1, 10_000, 1.5, "two", True):
        with pytest.raises(InputError, match=r"workers is .* it must be a whole number from 1 to"):
            check_workers(workers)
