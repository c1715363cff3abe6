"""The colours of every picture."""

from __future__ import annotations

# Okabe and Ito's colours: safe for the colour-blind, and ordered here so that neighbours in the
# list of methods also differ in grey.
COLOURS = {
    "black": "#1a1a1a",
    "blue": "#0072b2",
    "orange": "#d98200",
    "green": "#007a5a",
    "red": "#c44e00",
    "pink": "#b5578f",
    "sky": "#56b4e9",
    "grey": "#6b6b6b",
    "light": "#d9d9d9",
}

Dash = str | tuple[int, tuple[float, ...]]
"""A line's style as matplotlib takes it."""
