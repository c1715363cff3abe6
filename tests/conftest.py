"""Settings for all tests."""

import signal

import pytest
from hypothesis import HealthCheck, settings

# A shell makes what it starts in the background deaf to Ctrl-C; tests send it and are sent it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Properties see the same examples each time: a test that fails by chance teaches to run it again.
# The time an example takes measures how busy the machine is, not whether the code is right.
_CALM = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "database": None}
settings.register_profile("project", derandomize=True, **_CALM)
# The search for examples not yet seen: make fuzz.
settings.register_profile("fuzz", derandomize=False, print_blob=True, **_CALM)
settings.load_profile("project")


@pytest.fixture
def hangups():
    """Undo the deafness of nohup where a test sends SIGHUP, to itself or to what it starts."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)
