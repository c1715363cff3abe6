"""A private release of a table."""
