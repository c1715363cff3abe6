"""What several releases guarantee together."""

import json
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import refused, run
from microdata_price.exceptions import InputError
from microdata_price.model.conversion import approximate_together
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.workload import Workload
from microdata_price.release.budget import Entry, add_up, guarantee_from
from microdata_price.release.folder import load_measured, sealed
from microdata_price.release.measure import measure_privately
from microdata_price.release.run import publish
from microdata_price.tables.schemas import Schema

LEVELS = st.floats(1e-3, 10.0)
GUARANTEES = st.one_of(LEVELS.map(PureDP), LEVELS.map(ConcentratedDP))


@given(st.lists(GUARANTEES, min_size=1, max_size=6), st.floats(1e-12, 0.5))
def test_guarantees_add_up(guarantees, delta):
    entries = [Entry(None, str(k), g) for k, g in enumerate(guarantees)]
    budget = add_up(entries)
    pure = [g.epsilon for g in guarantees if isinstance(g, PureDP)]
    rho = sum(g.rho for g in guarantees if isinstance(g, ConcentratedDP))
    zcdp = rho + sum(e * e / 2 for e in pure)
    assert budget.zcdp.rho == pytest.approx(zcdp)
    approximate = approximate_together(budget.epsilons, budget.rho, delta)
    assert approximate.delta == delta
    if len(pure) == len(guarantees):
        assert budget.total == PureDP(budget.total.epsilon)
        assert budget.total.epsilon == pytest.approx(sum(pure))
    else:
        assert budget.total == budget.zcdp
    # Never more than what any choice of parts to take as pure, the others as zCDP, would give.
    for taken in range(2 ** len(pure)):
        kept = [e for k, e in enumerate(pure) if taken >> k & 1]
        rest = rho + sum(e * e / 2 for k, e in enumerate(pure) if not taken >> k & 1)
        converted = rest + 2 * np.sqrt(rest * np.log(1 / delta))
        assert approximate.epsilon <= (sum(kept) + converted) * (1 + 1e-9)
    # A copy of any of them costs nothing; the order does not matter.
    again = add_up([*reversed(entries), *entries])
    assert again.zcdp.rho == pytest.approx(budget.zcdp.rho)
    assert len(again.copies) == len(entries)
    assert guarantee_from(guarantees[0].fields()) == guarantees[0]


def test_nothing_or_a_contradiction_does_not_add_up():
    with pytest.raises(InputError, match="no release to add up"):
        add_up([])
    with pytest.raises(InputError, match="one of the manifests has been changed"):
        add_up([Entry(None, "a", PureDP(1.0)), Entry(None, "a", PureDP(0.1))])


@pytest.fixture
def folders(tmp_path):
    schema = Schema(("sex",), (("f", "m"),))
    for name, level in (("a", PureDP(0.5)), ("b", PureDP(0.25)), ("c", ConcentratedDP(0.125))):
        m = measure_privately(np.array([3.0, 4.0]), schema, Workload.table(2), level)
        publish(m, "nnls", tmp_path / name)
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    return tmp_path


def resealed(text):
    """The same manifest with its checksum made anew, where it is one."""
    try:
        return json.dumps(sealed(json.loads(text)))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return text


def test_the_command(folders, capsys):
    names = [folders / n for n in ("a", "b", "copy")]
    code, printed, error = run(capsys, "budget", *names)
    assert (code, error) == (0, "")
    assert "Together: pure differential privacy with epsilon = 0.75" in printed
    assert "a copy of the same measurement, counted once" in printed
    code, printed, error = run(capsys, "budget", *names, folders / "c", "--json", "--delta", "1e-9")
    assert (code, error) == (0, "")
    document = json.loads(printed)
    rho = 0.125 + 0.125 + 0.25**2 / 2
    assert document["total"] == {"kind": "zcdp", "rho": pytest.approx(rho)}
    assert document["approximate"]["delta"] == 1e-9
    together = approximate_together([0.5, 0.25], 0.125, 1e-9)
    assert document["approximate"]["epsilon"] == together.epsilon
    assert (document["epsilon"], document["rho"]) == (0.75, pytest.approx(0.125))
    code, printed, error = run(capsys, "budget", *names, folders / "c")
    assert "with epsilon = 0.75 and, besides, zero-concentrated" in printed
    assert "That is at most (" in printed
    assert document["copies"] == [str(folders / "copy")]


def test_damaged_or_foreign_folders_are_refused(folders, capsys):
    manifest = folders / "a" / "manifest.json"
    document = json.loads(manifest.read_text())
    for text, message in (
        ("{", "is not a JSON document"),
        ("[" * 100_000, "is not a JSON document"),
        ("[]", "was not written by this version"),
        (json.dumps({**document, "format": "other"}), "was not written by this version"),
        (json.dumps({**document, "guarantee": {"kind": "pure"}}), "the guarantee must"),
        (json.dumps({**document, "guarantee": {"kind": "pure", "epsilon": -1}}), "epsilon is -1"),
        (json.dumps({**document, "measurement": None}), "states a guarantee"),
    ):
        manifest.write_text(resealed(text))
        assert message in refused(capsys, "budget", folders / "a")
    assert "is not the folder of a release" in refused(capsys, "budget", folders)
    assert "delta is 1" in refused(capsys, "budget", folders / "b", "--delta", "1")
    with pytest.raises(InputError):
        load_measured(folders / "nowhere")
