"""Settings for all tests."""

from hypothesis import HealthCheck, settings

# Properties see the same examples each time: a test that fails by chance teaches to run it again.
# The time an example takes measures how busy the machine is, not whether the code is right.
_CALM = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "database": None}
settings.register_profile("project", derandomize=True, **_CALM)
# The search for examples not yet seen: make fuzz.
settings.register_profile("fuzz", derandomize=False, print_blob=True, **_CALM)
settings.load_profile("project")
