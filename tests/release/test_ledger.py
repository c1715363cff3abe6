"""What was spent: added up, written down before a table is measured, and refused above a cap."""

import contextlib
import errno
import json
import shlex
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import refused, run
from microdata_price.exceptions import InputError
from microdata_price.model.conversion import approximate_together
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.release import ledger
from microdata_price.release.budget import Entry, add_up, guarantee_from
from microdata_price.release.folder import entry_of, load_measured
from microdata_price.release.ledger import Account, read_ledger
from microdata_price.release.plan import plan_release
from microdata_price.release.run import publish, release
from release_samples import SCHEMA, WORKLOAD, edited, measured

LEVELS = st.floats(1e-3, 10.0)
GUARANTEES = st.one_of(LEVELS.map(PureDP), LEVELS.map(ConcentratedDP))


def entry(name, guarantee, replaced=False):
    return Entry(Path("out"), name, guarantee, replaced)


@given(st.lists(GUARANTEES, min_size=1, max_size=6))
def test_guarantees_add_up(guarantees):
    entries = [entry(str(k), g) for k, g in enumerate(guarantees)]
    budget = add_up(entries)
    pure = [g.epsilon for g in guarantees if isinstance(g, PureDP)]
    rho = float(sum(Fraction(g.rho) for g in guarantees if isinstance(g, ConcentratedDP)))
    zcdp = Fraction(rho) + sum(Fraction(e) ** 2 / 2 for e in pure)
    assert zcdp <= budget.zcdp.rho == pytest.approx(float(zcdp), rel=1e-14)
    if len(pure) == len(guarantees):
        assert budget.total == PureDP(budget.total.epsilon)
        assert budget.total.epsilon == pytest.approx(sum(pure))
    else:
        assert budget.total == budget.zcdp
    # A copy of any of them costs nothing; the order does not matter.
    again = add_up([*reversed(entries), *entries])
    assert (again.zcdp.rho, len(again.copies)) == (pytest.approx(budget.zcdp.rho), len(entries))
    assert guarantee_from(guarantees[0].fields()) == guarantees[0]


def test_nothing_or_a_contradiction_does_not_add_up():
    with pytest.raises(InputError, match="no release to add up"):
        add_up([])
    with pytest.raises(InputError, match="one of the manifests has been changed"):
        add_up([entry("a", PureDP(1.0)), entry("a", PureDP(0.1))])


def test_the_command(tmp_path, capsys):
    for name, level in (("a", PureDP(0.5)), ("b", PureDP(0.25)), ("c", ConcentratedDP(0.125))):
        publish(measured(level), "nnls", tmp_path / name)
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    names = [tmp_path / n for n in ("a", "b", "copy")]
    code, printed, error = run(capsys, "budget", *names)
    assert (code, error, "a copy of the same measurement, counted once" in printed) == (0, "", True)
    assert "Together: pure differential privacy with epsilon = 0.75" in printed
    names.append(tmp_path / "c")
    document = json.loads(run(capsys, "budget", *names, "--json", "--delta", "1e-9")[1])
    rho = 0.125 + 0.125 + 0.25**2 / 2
    assert document["total"] == {"kind": "zcdp", "rho": pytest.approx(rho)}
    together = approximate_together([0.5, 0.25], 0.125, 1e-9)
    assert document["approximate"] == {"epsilon": together.epsilon, "delta": 1e-9}
    assert (document["epsilon"], document["rho"]) == (0.75, pytest.approx(0.125))
    printed = run(capsys, "budget", *names)[1]
    assert "with epsilon = 0.75 and, besides, zero-concentrated" in printed
    assert "That is at most (" in printed
    assert document["copies"] == [str(tmp_path / "copy")]
    assert "delta is 1" in refused(capsys, "budget", *names, "--delta", "1")
    publish(measured(known_total=True), "nnls", known := tmp_path / "known")
    told = run(capsys, "budget", names[0], known)[1].split("\n")  # each as its own README says
    assert (told[0][-6:], told[1][-3:], ": two steps)" in told[2]) == (" = 0.5", "= 1", True)
    document = json.loads(run(capsys, "budget", names[0], known, "--json")[1])
    assert [r["guarantee"]["epsilon"] for r in document["releases"]] == [0.5, 1]
    assert ", 1.2345649e-06)-" in run(capsys, "budget", *names, "--delta", "1.2345649e-6")[1]


def test_a_cap_refuses_what_exceeds_it_and_nothing_else(tmp_path, capsys):
    account = Account(tmp_path / "ledger.jsonl", "persons")
    other = Account(tmp_path / "ledger.jsonl", "firms")
    account.limit(PureDP(0.3))
    other.limit(PureDP(5.0))
    for k in range(3):
        account.spend(entry(str(k), PureDP(0.1)))
    other.spend(entry("9", PureDP(5.0)))
    before = account.path.read_text()
    book = ["budget", "--ledger", account.path, "--name", "persons"]
    assert "Together: pure differential privacy with epsilon = 0.3, for" in run(capsys, *book)[1]
    never = "no cap in epsilon ever admits,"
    over = r"epsilon = 0\.3; .* epsilon = 0\.301 would be spent; nothing was measured"
    unlike = rf"rho = 0\.015\d*, which {never} would be spent"
    for level, said in ((PureDP(0.001), over), (ConcentratedDP(1e-6), unlike)):
        with pytest.raises(InputError, match=said):
            account.spend(entry("3", level))
    with pytest.raises(InputError, match=r"epsilon = 0\.3\d* was spent on 'persons' already, over"):
        account.limit(PureDP(0.2))
    for none in (ApproximateDP(1.0, 1e-6), None, 1.0, "pure"):
        with pytest.raises(InputError, match="the guarantee must be"):
            Account(account.path, "fresh").limit(none)
    assert (account.path.read_text(), account.limit(ConcentratedDP(1.0))) == (before, PureDP(0.3))
    account.spend(entry("4", ConcentratedDP(0.5)))
    with pytest.raises(InputError, match=f"{never} was spent on"):
        account.limit(PureDP(9.0))
    entries, cap = account.state()
    assert (len(entries), cap) == (4, ConcentratedDP(1.0))
    # Of what exceeds a cap by rounding alone one reads the cap.
    assert "zCDP with rho = 0.515." in run(capsys, *book, "--cap-rho", 0.515)[1]
    assert add_up(entries).zcdp.rho == pytest.approx(3 * 0.1**2 / 2 + 0.5)
    assert add_up(other.state()[0]).total == PureDP(5.0)


def test_nothing_is_spent_under_a_name_without_a_cap(tmp_path, account):
    before = account.path.read_bytes()
    with pytest.raises(InputError, match=r"'person' has no cap .*--cap-epsilon"):
        Account(account.path, "person").spend(entry("1", PureDP(0.1)))
    for path, name in ((account.path, "person"), (tmp_path / "my new", """it's "odd" $HOME""")):
        with pytest.raises(InputError, match="has no cap") as error:
            Account(path, name).check_ready(tmp_path / "out")
        told = shlex.split(str(error.value).split("microdata-price ")[1])
        assert told[:6] == ["budget", "--ledger", str(path), "--name", name, "--cap-epsilon"]
    assert (account.path.read_bytes(), (tmp_path / "my new").exists()) == (before, False)


def test_each_measurement_of_a_plan_counts_by_itself(inputs, account):
    planned, out = plan_release(SCHEMA, WORKLOAD, PureDP(0.1)), inputs[2]
    places = [out.with_name(name) for name in "abcd"]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda place: release(inputs[0], planned, "ols", place, account), places))
    release(inputs[0], load_measured(places[0])[0], "ols", out, account)
    counted = [e.identity for e in account.state()[0]]
    assert len(counted) == 5
    kept = [entry_of(place, load_measured(place)[0]) for place in [*places, out]]
    assert {*counted} == {e.identity for e in kept}
    assert add_up(kept).total.level == pytest.approx(0.5)


def test_a_changed_ledger_is_refused(tmp_path, account):
    for k in range(3):
        account.spend(entry(str(k), PureDP(0.1)))
    whole = account.path.read_bytes()
    lines, more = whole.decode().splitlines(keepends=True), entry("8", PureDP(0.1))
    for changed, message in (
        ([lines[0], *lines[2:]], "does not follow"),
        ([*lines[:2], lines[2].replace("0.1", "0.01"), *lines[3:]], "does not follow"),
        ([*lines[:-1], lines[-1][:-1]], "no whole entry"),  # whole but for its end
        ([*lines, "x\n"], "line 6 is no whole entry"),
        ([line.replace("\n", "\r\n") for line in lines], "does not follow"),
        ([*lines[:-1], lines[-1].replace('"table"', '"tab1e"')], "line 5 is no whole entry"),
        *(([line], "is no ledger") for line in ("{}\n", "\ufffd", "[]\n")),
        ([], "is empty"),
    ):
        account.path.write_bytes("".join(changed).encode())
        for ask in (account.state, lambda: account.spend(more), lambda: account.limit(PureDP(9.0))):
            with pytest.raises(InputError, match=message):
                ask()
        assert account.path.read_bytes() == "".join(changed).encode()
    with pytest.raises(InputError, match="there is no ledger"):
        Account(tmp_path / "none", "persons").state()
    with pytest.raises(InputError, match="give a word"):
        Account(tmp_path / "none", " ")
    with pytest.raises(InputError, match="null is no regular file"):
        Account(Path("/dev/null"), "persons")


def test_the_commands_and_a_ledger_that_was_cut(tmp_path, inputs, capsys):
    table, schema, path = *inputs[:2], tmp_path / "ledger.jsonl"
    book = ["--ledger", path, "--name", "persons"]
    words = ["release", table, "--schema", schema, "--epsilon", 1]
    assert "has no cap" in refused(capsys, *words, *book, "--out", tmp_path / "a")
    code, printed, _ = run(capsys, "budget", *book, "--cap-epsilon", 2.5)
    assert (code, "Cap: pure differential privacy with epsilon = 2.5" in printed) == (0, True)
    told = run(capsys, "budget", *book, "--cap-epsilon", 2)[1]
    assert "epsilon = 2; before: pure differential privacy with epsilon = 2.5\n" in told
    empty = path.read_bytes()
    assert "delta is 2" in refused(capsys, "budget", *book, "--cap-epsilon", 9, "--delta", 2)
    assert path.read_bytes() == empty
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        assert run(capsys, *words, *book, "--out", folder)[0] == 0
    assert "the cap on 'persons'" in refused(capsys, *words, *book, "--out", tmp_path / "c")
    assert not (tmp_path / "c").exists()
    document = json.loads(run(capsys, "budget", *book, "--json")[1])
    assert document["total"] == {"kind": "pure", "epsilon": 2.0}
    assert len(document["measurements"]) == 2
    for part in (["--ledger", path], ["--name", "persons"], ["--cap-epsilon", 1, *folders]):
        assert "give --ledger and --name" in refused(capsys, "budget", *part)

    # Which folders does the ledger count? A fit anew of the same measurement is counted, too.
    assert run(capsys, "release", "--again", folders[0], "--out", tmp_path / "again")[0] == 0
    assert run(capsys, *words, "--out", tmp_path / "free")[0] == 0
    counted = ["budget", "--ledger", path, *folders, tmp_path / "again"]
    code, printed, _ = run(capsys, *counted)
    assert (code, printed.count("counted in")) == (0, 3)
    code, printed, _ = run(capsys, *counted, tmp_path / "free")
    assert (code, "was made without a ledger" in printed) == (1, True)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut, missing in ((b"".join(lines[:-1]), 1), (empty, 3)):
        path.write_bytes(cut)
        code, printed, _ = run(capsys, *counted, "--json")
        assert (code, len(json.loads(printed)["not_in_ledger"])) == (1, missing)
    # Edited, with all its checksums made anew: the folders still know the line that counted them.
    before, forged = "", ""
    for line in whole.decode().splitlines():
        fields = json.loads(line.replace('"epsilon": 1.0', '"epsilon": 0.1'))
        text = json.dumps({**fields, "previous": before}, ensure_ascii=False) + "\n"
        before, forged = ledger._digest(text), forged + text
    path.write_text(forged)
    assert len(read_ledger(path)) == len(lines)
    noted = {json.loads((f / "manifest.json").read_text())["ledger"] for f in folders}
    assert not noted & set(read_ledger(path))
    path.write_bytes(whole)
    edited(folders[0], ledger="")
    assert run(capsys, *counted)[0] == 1


@pytest.mark.parametrize("other", ["Pér sons", "PÉR SONS", "pér\u200asons", " pér  sons "])
def test_an_account_under_nearly_its_name_is_the_same(tmp_path, other):
    path = tmp_path / "ledger.jsonl"
    assert Account(path, "pér sons").limit(PureDP(1.0)) is None
    assert '"table": "pér sons"' in path.read_text(encoding="utf-8")
    Account(path, other).spend(entry("1", PureDP(0.7)))
    for name in ("pér sons", other):
        with pytest.raises(InputError, match="would be spent"):
            Account(path, name).spend(entry("2", PureDP(0.7)))
        with pytest.raises(InputError, match="was spent on"):
            Account(path, name).limit(PureDP(0.5))
    with pytest.raises(InputError, match=r"l: there is no account 'households'.* Known are: "):
        Account(path, "households").state()
    assert Account(path, "None").limit(PureDP(1.0)) is None
    assert Account(path, "none").state() == ([], PureDP(1.0))


def test_spending_at_once_never_exceeds_the_cap(account, monkeypatch):
    def slow(*given, read=read_ledger, **named):
        found = read(*given, **named)
        time.sleep(0.01)  # in which, without a lock, another would spend the same
        return found

    def spend(k):
        with contextlib.suppress(InputError):
            account.spend(entry(str(k), PureDP(1.0)))

    monkeypatch.setattr(ledger, "read_ledger", slow)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(spend, range(20)))
    assert add_up(account.state()[0]).total == PureDP(10.0)


def test_a_full_disk_leaves_the_ledger_as_it_was(account, monkeypatch, tmp_path):
    account.spend(entry("0", PureDP(1.0)))
    before, first = account.path.read_bytes(), Account(tmp_path / "first", "persons")
    write = ledger.os.write
    for problem in (None, OSError(errno.ENOSPC, "No space left on device")):

        def half(file, data, problem=problem):
            written = write(file, data[:20])
            if problem:
                raise problem
            return written

        monkeypatch.setattr(ledger.os, "write", half)
        with pytest.raises(OSError, match=f"No space left.*{account.path.name}"):
            account.spend(entry("1", PureDP(1.0)))
        assert account.path.read_bytes() == before
        with pytest.raises(OSError, match="No space left"):
            first.limit(PureDP(3.0))
        assert not first.path.exists()  # an empty one would pass for one that was emptied
    monkeypatch.setattr(ledger.os, "write", write)
    synced = []
    monkeypatch.setattr(ledger.os, "fsync", synced.append)
    monkeypatch.setattr(ledger, "sync_file", synced.append)
    account.spend(entry("1", PureDP(1.0)))
    assert (type(synced[0]), synced[1:]) == (int, [account.path.parent])
    first.limit(PureDP(3.0))
    assert len(account.state()[0]) == 2
    # A measurement with a public total beside others without: all count as replacements.
    account.spend(entry("2", PureDP(0.25), replaced=True))
    together = add_up(account.state()[0])
    assert (together.total, "replaced" in together.neighbours) == (PureDP(4.25), True)
    account.limit(PureDP(4.5))
    said = r"epsilon = 5\.25 \(twice the epsilon, four times the rho"
    with pytest.raises(InputError, match=said):
        account.spend(entry("3", PureDP(0.5)))
