"""Settings for all tests."""

from hypothesis import settings

# A deadline measures how busy the machine is, not whether the code is right.
settings.register_profile("project", deadline=None)
settings.load_profile("project")
