"""The command ``microdata-price`` as a person types it, in this process."""

import pytest

from microdata_price import cli


def run(capsys, *words):
    """Return the exit status, and what went to standard output and to standard error."""
    with pytest.raises(SystemExit) as stop:
        cli.main([str(word) for word in words])
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


def refused(capsys, *words):
    """Return the message of a command that is refused: status 2, no result and no traceback."""
    code, printed, error = run(capsys, *words)
    assert (code, printed, "Traceback" in error) == (2, "", False)
    return error
