"""The colours of every picture."""

from __future__ import annotations

import colorsys

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


def on_dark(colour: str) -> str:
    """Return the colour that stands for another one where the paper is dark.

    Greys change places with their opposites, so that white becomes the paper; tints become dark
    tints; every other colour is mixed with white, and keeps its hue.

    Examples
    --------
    >>> on_dark("#ffffff"), on_dark("#0072b2"), on_dark("#e9f1f8")
    ('#121212', '#73b1d5', '#15232f')
    """
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    hue, lightness, saturation = colorsys.rgb_to_hls(*parts)
    if max(parts) - min(parts) < 0.04:
        mapped = [0.93 - 0.86 * part for part in parts]
    elif lightness > 0.85:
        mapped = list(colorsys.hls_to_rgb(hue, 0.07 + 1.1 * (1 - lightness), 0.75 * saturation))
    else:
        mapped = [0.55 * part + 0.45 for part in parts]
    return "#" + "".join(f"{round(255 * part):02x}" for part in mapped)
