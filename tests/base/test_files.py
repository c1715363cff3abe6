"""Files and folders appear whole or not at all."""

import errno
import os
import signal
import tempfile

import pytest

from microdata_price.base.files import claim_folder, new_folder, write_whole
from microdata_price.exceptions import InputError


def half_a_folder(place, problem):
    with new_folder(place, private=False) as folder:
        (folder / "half").write_text("half")
        if problem is SystemExit:
            os.kill(os.getpid(), signal.SIGTERM)
        raise problem


@pytest.mark.parametrize("problem", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_a_folder_that_is_not_finished_leaves_nothing(tmp_path, problem):
    with pytest.raises(problem) as stop:
        half_a_folder(tmp_path / "out", problem)
    assert getattr(stop.value, "code", 143) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path):
    with new_folder(tmp_path / "out", private=False) as folder:
        (folder / "a").write_text("first")
    for name, said in (("out", "exists already"), ("late", "exists"), ("no/new", "create it")):
        made = new_folder(tmp_path / name, private=False)
        with pytest.raises(InputError, match=said), made:
            (tmp_path / "late").mkdir()
    assert (tmp_path / "out" / "a").read_text() == "first"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["late", "out"]


def test_permissions(tmp_path):
    before = os.umask(0o022)
    try:
        for private, mode in ((True, 0o700), (False, 0o755)):
            with new_folder(tmp_path / str(private), private=private):
                pass
            assert (tmp_path / str(private)).stat().st_mode & 0o777 == mode
        write_whole(tmp_path / "file", "text")
        assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    write_whole(tmp_path / "file", "old")

    def full(_number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "file", "new")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("file", "old")]


@pytest.mark.parametrize(
    "kind", [lambda p: write_whole(p, ""), lambda p: new_folder(p, private=True).__enter__()]
)
def test_a_place_that_refuses_is_named_as_it_was_chosen(tmp_path, monkeypatch, kind):
    def refusing(*, prefix, dir):
        raise PermissionError(errno.EACCES, "Permission denied", f"{dir}/{prefix}q3x")

    monkeypatch.setattr(tempfile, "mkdtemp", refusing)
    monkeypatch.setattr(tempfile, "mkstemp", refusing)
    with pytest.raises(PermissionError) as caught:
        kind(tmp_path / "a")
    assert (caught.value.filename, list(tmp_path.iterdir())) == (str(tmp_path), [])


def test_a_folder_that_takes_no_file_is_refused_before_work(tmp_path, monkeypatch):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / ".index.html.x7").touch()  # a kill left it
    claim_folder(tmp_path / "site", "index.html", "a site")
    monkeypatch.setattr(os, "access", lambda place, _mode: place != tmp_path)
    with pytest.raises(InputError, match=f"nothing may be written in the folder {tmp_path};"):
        claim_folder(tmp_path / "new" / "site", "index.html", "a site")
