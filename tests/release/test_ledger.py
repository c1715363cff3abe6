"""What was spent on a table is written down before it is measured, and a cap refuses more."""

import errno
import json

import numpy as np
import pytest

from microdata_price import cli
from microdata_price.exceptions import InputError
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.release import ledger
from microdata_price.release.budget import Entry
from microdata_price.release.ledger import Account
from microdata_price.tables.schema import Schema
from microdata_price.tables.table_text import table_text

SCHEMA = Schema(("sex",), (("f", "m"),))


def entry(name, guarantee, replaced=False):
    return Entry(None, name, guarantee, guarantee.group(2), replaced)


def test_a_cap_refuses_what_exceeds_it_and_nothing_else(tmp_path):
    account = Account(tmp_path / "ledger.jsonl", "persons")
    other = Account(tmp_path / "ledger.jsonl", "firms")
    account.limit(PureDP(0.3))
    for k in range(3):
        account.spend(entry(str(k), PureDP(0.1)))
    other.spend(entry("9", PureDP(5.0)))
    before = account.path.read_text()
    with pytest.raises(InputError, match="would be spent; nothing was measured"):
        account.spend(entry("3", PureDP(0.001)))
    with pytest.raises(InputError, match="would be spent"):
        account.spend(entry("4", ConcentratedDP(1e-6)))
    with pytest.raises(InputError, match="was spent on 'persons' already"):
        account.limit(PureDP(0.2))
    assert account.path.read_text() == before
    account.limit(ConcentratedDP(1.0))
    account.spend(entry("4", ConcentratedDP(0.5)))
    state = account.state()
    assert len(state.entries) == 4
    assert state.cap == ConcentratedDP(1.0)
    assert state.budget.zcdp.rho == pytest.approx(3 * 0.1**2 / 2 + 0.5)
    assert other.state().budget.total == PureDP(5.0)


def test_public_totals_and_others_are_added_as_replacements(tmp_path):
    account = Account(tmp_path / "ledger.jsonl", "persons")
    account.spend(entry("1", PureDP(0.5)))
    account.spend(entry("2", PureDP(0.25), replaced=True))
    assert account.state().budget.total == PureDP(1.25)
    assert "replaced" in account.state().budget.neighbours


def test_a_changed_ledger_is_refused(tmp_path):
    account = Account(tmp_path / "ledger.jsonl", "persons")
    for k in range(3):
        account.spend(entry(str(k), PureDP(0.1)))
    lines = account.path.read_text().splitlines(keepends=True)
    for changed, message in (
        ([lines[0], *lines[2:]], "does not follow"),
        ([lines[0], lines[1].replace("0.1", "0.01"), *lines[2:]], "does not follow"),
        ([*lines[:-1], lines[-1][:-5]], "no whole entry"),
        (["{}\n"], "is no ledger"),
    ):
        account.path.write_text("".join(changed))
        with pytest.raises(InputError, match=message):
            account.state()
        with pytest.raises(InputError, match=message):
            account.spend(entry("8", PureDP(0.1)))
    with pytest.raises(InputError, match="there is no ledger"):
        Account(tmp_path / "none", "persons").state()
    with pytest.raises(InputError, match="give a word"):
        Account(tmp_path / "none", " ")


def run(capsys, *words):
    with pytest.raises(SystemExit) as stop:
        cli.main([str(w) for w in words])
    printed = capsys.readouterr()
    return stop.value.code or 0, printed.out, printed.err


def test_the_commands(tmp_path, capsys):
    table, schema, ledger = (tmp_path / n for n in ("t.csv", "s.json", "ledger.jsonl"))
    table.write_text(table_text(SCHEMA, np.array([30, 40])))
    schema.write_text(SCHEMA.to_json())
    book = ["--ledger", ledger, "--name", "persons"]
    code, printed, _ = run(capsys, "budget", *book, "--cap-epsilon", 1.5)
    assert code == 0
    assert "Cap: pure differential privacy with epsilon = 1.5" in printed
    words = ["release", table, "--schema", schema, "--epsilon", 1, "--draws", 0, *book]
    assert run(capsys, *words, "--out", tmp_path / "a")[0] == 0
    code, _, error = run(capsys, *words, "--out", tmp_path / "b")
    assert code == 2
    assert "the cap on 'persons'" in error
    assert not (tmp_path / "b").exists()
    code, printed, _ = run(capsys, "budget", *book, "--json")
    document = json.loads(printed)
    assert document["total"] == {"kind": "pure", "epsilon": 1.0}
    assert len(document["measurements"]) == 1
    code, _, error = run(capsys, "budget", "--ledger", ledger)
    assert (code, "--ledger and --name together" in error) == (2, True)
    code, _, error = run(capsys, *words[:-2], "--out", tmp_path / "c")
    assert (code, "both --ledger and --name" in error) == (2, True)


@pytest.mark.parametrize("other", ["Persons", "PERSONS", "per\u200asons", "persons"])
def test_an_account_under_nearly_its_name_never_hides_what_was_spent(tmp_path, other):
    path = tmp_path / "ledger.jsonl"
    name = "per sons" if "\u200a" in other else "persons"
    Account(path, name).limit(PureDP(1.0))
    Account(path, f" {name} ").spend(Entry(tmp_path / "a", "1", PureDP(0.7)))
    before = path.read_bytes()
    account = Account(path, other)
    again = Entry(tmp_path / "b", "2", PureDP(0.7))
    with pytest.raises(InputError, match=f"the cap on '{name}'|which looks like '{other}'"):
        account.spend(again)
    assert path.read_bytes() == before
    if account.name != name:
        for ask in (account.state, lambda: account.limit(PureDP(9.0))):
            with pytest.raises(InputError, match="write it in the same way"):
                ask()
    with pytest.raises(InputError, match=r"there is no account .*Known are: "):
        Account(path, "households").state()
    Account(path, "households").spend(again)  # another table's
    assert len(Account(path, "households").state().entries) == 1


@pytest.mark.parametrize("content", [b"\xff\xfe", "{}\n".encode("utf-16"), b"\x80", b"[]\n", b"\0"])
def test_what_is_no_ledger_is_refused(tmp_path, content):
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(content)
    account = Account(path, "persons")
    for ask in (account.state, lambda: account.limit(PureDP(9.0))):
        with pytest.raises(InputError, match=r"is no ledger|is no whole entry"):
            ask()
    assert path.read_bytes() == content


def test_a_new_account_beside_others_is_told(tmp_path, capsys):
    path = tmp_path / "ledger.jsonl"
    Account(path, "persons").spend(entry("0", PureDP(1.0)))
    (tmp_path / "t.csv").write_text("sex,count\nf,3\nm,4\n")
    (tmp_path / "s.json").write_text('{"columns": {"sex": ["f", "m"]}}')
    for name, out, told in [("person", "a", True), ("person", "b", False)]:
        with pytest.raises(SystemExit) as stop:
            cli.main(
                [
                    *("release", str(tmp_path / "t.csv"), "--schema", str(tmp_path / "s.json")),
                    *("--epsilon", "1", "--draws", "0", "--out", str(tmp_path / out)),
                    *("--ledger", str(path), "--name", name),
                ]
            )
        assert stop.value.code == 0
        said = capsys.readouterr().err
        assert ("has no cap; accounts known there: persons" in said) == told


def test_other_line_ends_are_a_change_for_both_commands(tmp_path):
    account = Account(tmp_path / "ledger.jsonl", "persons")
    account.spend(entry("0", PureDP(1.0)))
    account.path.write_bytes(account.path.read_bytes().replace(b"\n", b"\r\n"))
    for act in (account.state, lambda: account.spend(entry("1", PureDP(1.0)))):
        with pytest.raises(InputError, match="does not follow from the line before it"):
            act()


def test_a_full_disk_leaves_the_ledger_as_it_was(tmp_path, monkeypatch):
    account = Account(tmp_path / "ledger.jsonl", "persons")
    account.spend(entry("0", PureDP(1.0)))
    before = account.path.read_bytes()
    write = ledger.os.write
    for half in (lambda f, data: write(f, data[:20]), _full(write)):
        monkeypatch.setattr(ledger.os, "write", half)
        with pytest.raises(OSError, match="No space left"):
            account.spend(entry("1", PureDP(1.0)))
        assert account.path.read_bytes() == before
    monkeypatch.setattr(ledger.os, "write", write)
    account.spend(entry("1", PureDP(1.0)))
    assert len(account.state().entries) == 2


def _full(write):
    def half(file, data):
        write(file, data[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    return half
