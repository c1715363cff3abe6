"""A private release of a table."""

from .run import publish, release, release_again

__all__ = ["publish", "release", "release_again"]
