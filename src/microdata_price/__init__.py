"""The price of microdata: what nonnegative, consistent private tables must pay in accuracy."""

__version__ = "0.1.0"
