"""The worst table of fitting cells to their noisy sum: one huge cell, all others empty.

Let G be the root of ``G = z_i - w + H(G)``, ``H(g) = sum_(j != i) (z_j - g)+``. Then ``Lam_i = G -
z_i`` is cell i's loss when its count is huge and all others are empty, and on *every* table, for
every outcome of noise of any joint law,

    -O_i <= q_i - x_i <= max(Lam_i, 0),    O_i = (z_i - (S - w)/d)+,  S = sum_j z_j .

So ``|Lam| <= C <= |max(Lam+, O)|`` in root mean squares. With independent noise of exponential
tails ``P(Lam_i > t | z_i) = P(H(z_i + t) > t + w)`` is a sum over the number of excesses.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ...exceptions import InputError
from ...model.noise import Gaussian
from ...model.privacy import ConcentratedDP, PureDP
from ..given import check_cells
from .asymmetric import best_rates, certified_asymmetric
from .excess_laplace import excess_sum
from .one_sided import certified_split

Array = NDArray[np.float64]

MOST_CELLS = 1e70
"""Up to this d the sum over the number of excesses is short."""
_FAR, _CUTS = 42.0, (0.25, 1.0)  # decays of a tail, beyond which nothing is left; its panels
_PARTS = 4  # in which sums of different lengths are added up
_MARGIN = 3.5  # standard deviations of a mean
_CLOSE, _HUGE = 1e-9, 1e100  # how near D may come to its least; beyond, rates change no more
_PER_ROOT, _MORE, _DEAR = 10.0, 20.0, 60.0  # of the number of terms of a sum, and its most
_AHEAD = 6.0  # decays above the threshold's level at which panels end
_SURE = 9.0  # standard deviations of Gaussian noise, beyond which nothing is left
_ABOUT, _PANELS = (-2.0, 0.0, 2.0), 2  # standard deviations at which panels end; of each
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


class WorstCell(NamedTuple):
    """Ends of the worst cell error over all tables, in counts."""

    least: float
    most: float


class TwoTails(NamedTuple):
    """Rates of asymmetric Laplace noise, per count: of its right and of its left tail."""

    right: float
    left: float

    @property
    def mean(self) -> float:
        """The mean, in counts."""
        return 1 / self.right - 1 / self.left

    def cumulant(self, k: int) -> float:
        """Return the cumulant of an even order k, 2 or 4."""
        return math.factorial(k - 1) * (self.right**-k + self.left**-k)


def worst_cell_error(cell: TwoTails, total: TwoTails, d: float, *, fine: int = 2) -> WorstCell:
    """Return both ends of C, the worst cell error of a fit to a noisy sum with asymmetric noise.

    The sum's noise is centred. The lower end is ``|Lam+|``, the upper one bounds ``|max(Lam+,
    O)|``, by quadrature on more panels where ``fine`` is larger.

    Examples
    --------
    >>> found = worst_cell_error(TwoTails(0.5, 0.5), TwoTails(0.5, 0.5), 1000)
    >>> round(found.least / math.sqrt(8), 2), round(found.most / math.sqrt(8), 2)
    (3.45, 3.48)
    """
    n = check_cells(d)
    if n > MOST_CELLS:
        raise InputError(f"the number of cells is {d:g}; this takes at most {MOST_CELLS:g}")
    R, L = cell
    ends = {0.0, cell.mean, *(side * share for side in (-_FAR / L, _FAR / R) for share in _CUTS)}
    z, weights = (x[0] for x in panels(np.array([sorted(ends)]), fine))
    weights = weights * R * L / (R + L) * np.exp(np.where(z > 0, -R * z, L * z))
    margin, apart = margin_of_mean(cell.cumulant, total.cumulant, n)
    floor = np.maximum(z - cell.mean, 0) + margin
    low, high = _beyond(cell, total, n, z, floor, fine)
    return WorstCell(math.sqrt(weights @ low), math.sqrt(weights @ (floor**2 + high)) + apart)


def margin_of_mean(
    cell: Callable[[int], float], total: Callable[[int], float], d: float
) -> tuple[float, float]:
    """Return h and a bound on ``|(|xi| - h)+|``, ``xi = (S - d E z - w)/d``."""
    spread = math.sqrt(cell(2) / d + total(2) / d / d)
    fourth = 3 * spread**4 + cell(4) / d / d / d + total(4) / d / d / d / d
    h = _MARGIN * spread
    return h, math.sqrt(fourth) / (4 * h)


def panels(breaks: Array, each: int) -> tuple[Array, Array]:
    """Return nodes and weights between the columns of ``breaks``; shape (rows, nodes)."""
    share = np.arange(each + 1) / each
    low, high = breaks[:, :-1, None], breaks[:, 1:, None]
    edges = low + (high - low) * share
    start, width = edges[..., :-1, None], np.diff(edges)[..., None]
    rows = breaks.shape[0]
    nodes, weights = start + width * (_NODES + 1) / 2, width * _WEIGHTS / 2
    return nodes.reshape(rows, -1), weights.reshape(rows, -1)


def _beyond(
    cell: TwoTails, total: TwoTails, d: float, z: Array, floor: Array, fine: int
) -> tuple[Array, Array]:
    """Return integrals of ``2 t P(Lam > t | z)``: over all t, at least; beyond floor, at most."""
    # About so high is the threshold on the worst table.
    R, L = cell
    level = float(special.lambertw(d * L / (R + L)).real) / R
    last = np.maximum(floor, level) + _FAR / min(R, total.left)
    kinks = (np.full(z.shape, total.mean), -z, level - z, level - z + _AHEAD / R)
    middle = [np.clip(x, floor, last) for x in kinks]
    breaks = np.sort(np.stack([floor, *middle, last], axis=1), axis=1)
    least, most = np.zeros(z.shape), np.zeros(z.shape)
    for part in (np.stack([0 * floor, floor], axis=1), breaks):
        t, weights = panels(part, 2 * fine)
        # H falls in g: where g < 0 it exceeds as often as H(0), and at most always.
        g, weights = z[:, None] + t, weights * 2 * t
        chance = _exceeds(cell, total, d, np.maximum(g, 0), t)
        least += (weights * chance).sum(axis=1)
        most = (weights * np.where(g < 0, 1, chance)).sum(axis=1)
    return least, most


def _exceeds(cell: TwoTails, total: TwoTails, d: float, g: Array, t: Array) -> Array:
    """Return ``P(H(g) > t + w)``, g >= 0; chances too many to add up are counted as 1.

    Given k excesses, H is a Gamma variable of shape k and rate R. Its law against an exponential
    variable is a sum of Poisson weights, in three recursions over k without cancellation.
    """
    R, L = cell
    p = L / (R + L) * np.exp(-R * g)
    some = np.flatnonzero((d - 1) * p < 2 * math.log(d) + _DEAR)
    out, c = np.ones(g.shape), t - total.mean
    # Where few excesses are likely the sums are short.
    for part in np.array_split(some[p.flat[some].argsort()], _PARTS):
        if part.size:
            out.flat[part] = _summed(cell, total, d - 1, p.flat[part], c.flat[part])
    return out


def _enough(mean: float) -> float:
    """Return what a Poisson variable of a mean hardly ever exceeds."""
    return mean + _PER_ROOT * math.sqrt(mean) + _MORE


def _summed(cell: TwoTails, total: TwoTails, n: float, p: Array, c: Array) -> Array:
    """Return `_exceeds` for chances p of an excess, in rising order, and c, t less w's mean."""
    (R, _), (r, left) = cell, total
    mean = n * float(p[-1])
    K = int(min(n, _enough(mean)))
    x, back, ratio = R * np.maximum(c, 0), R * np.maximum(-c, 0), 1 - left / R
    # Alternating signs need all terms that matter; else the rest is a closed form.
    far = float(x.max())
    last = K if ratio > 0 else max(K, int(_enough(far)))
    poisson = [np.exp(-x)]
    for k in range(1, last + 1):
        poisson.append(poisson[-1] * x / k)
    # below: P(c - E < Gamma <= c), with an exponential E of rate left, and how it falls in k.
    below = [np.zeros(x.shape)] * (last + 2)
    if abs(ratio) <= 1:
        if ratio > 0:  # the rest is a Poisson tail of mean ``ratio x``, and may be all of it
            with np.errstate(divide="ignore"):
                tail = np.log(special.gammainc(last + 1, ratio * x))
            below[-1] = np.exp(tail - x * left / R - (last + 1) * math.log(ratio))
        for k in range(last, -1, -1):
            below[k] = poisson[k] + ratio * below[k + 1]
    else:
        below[0] = np.exp(-x * left / R)
        for k in range(K):
            below[k + 1] = (below[k] - poisson[k]) / ratio
    chance = np.exp(n * np.log1p(-p))
    found, missing = np.zeros(x.shape), np.ones(x.shape)
    above, beyond, up = np.zeros(x.shape), np.zeros(x.shape), left / (r + left)
    fall, positive = up * np.exp(-back * r / R), c >= 0
    for k in range(K + 1):
        at = above + below[k] * (1 - up) - up * beyond
        found += chance * np.where(positive, at, 1 - fall * (R / (R + r)) ** k)
        missing -= chance
        above = above + poisson[k]
        beyond = (beyond + poisson[k]) * R / (R + r)
        chance = chance * (n - k) / (k + 1) * p / (1 - p)
    return np.asarray(found + missing)


def worst_gaussian_cell_error(cell: Gaussian, total: Gaussian, d: float) -> WorstCell:
    """Return both ends of C with Gaussian noise, by quadrature over t and ``g = z + t``."""
    n, s = check_cells(d), cell.std
    law = excess_sum(cell, total, n - 1)
    # About so high is the threshold on the worst table; below it the empty cells' noise is enough.
    level = s * math.sqrt(2 * math.log(n))
    breaks = [-_SURE * s, 0, level / 2, level - s, level, level + s, level + _AHEAD * s]
    breaks.append(breaks[-1] + _SURE * total.std)
    g, across = (x[0] for x in panels(np.sort(breaks)[None], _PANELS))
    margin, apart = margin_of_mean(_only_square(cell), _only_square(total), n)
    start = np.maximum(margin, (g + margin) / 2)
    last = np.maximum(g, 0) + _SURE * s
    ends = []
    for low, high in ((0 * g, start), (start, last)):
        # The cell's noise g - t matters within 9 standard deviations of 0.
        middle = (np.clip(g + k * s, low, high) for k in _ABOUT)
        t, weights = panels(np.stack([low, *middle, high], axis=1), _PANELS)
        chance = 1 - law.below(g, t)
        ends.append(across @ (weights * 2 * t * chance * cell.pdf(g[:, None] - t)).sum(axis=1))
    empty = s**2 / 2 + 2 * margin * s / math.sqrt(2 * math.pi) + margin**2
    return WorstCell(math.sqrt(sum(ends)), math.sqrt(empty + ends[1]) + apart)


def _only_square(noise: Gaussian) -> Callable[[int], float]:
    return lambda k: noise.variance * (k == 2)


@functools.cache
def certified_fit(
    guarantee: PureDP | ConcentratedDP, d: float, sum_error: float, *, even: bool, fine: int = 2
) -> WorstCell | None:
    """Return both ends of C for the fit that spends just enough on the sum; None if none does.

    The upper end is the smaller one of the worst table's and of the one-sided lemma's
    (`one_sided`), which is sharper for few cells; the lower end is 0 beyond `MOST_CELLS`.

    Examples
    --------
    >>> found = certified_fit(PureDP(0.5), 1000, math.sqrt(32), even=False)
    >>> round(found.most, 2)
    18.45
    """
    unit = float(guarantee.records(np.ones(())))
    n, D = check_cells(d), sum_error / unit
    if isinstance(guarantee, ConcentratedDP):
        share = 0.5 / D**2
        if not share < 1:
            return None
        simple = certified_split(ConcentratedDP(1.0), n, share)
        noises = Gaussian(math.sqrt(0.5 / (1 - share))), Gaussian(D)
        worst = functools.partial(worst_gaussian_cell_error, *noises)
    else:
        if math.sqrt(2) * (1 + _CLOSE) >= D:
            return None
        right = left = math.sqrt(2) / D
        if not even:
            right, left = (float(x) for x in best_rates(1.0, min(n, _HUGE), D))
        simple = certified_asymmetric(1.0, n, right, left)
        tails = TwoTails(1 - right, 1 - left), TwoTails(right, left)
        worst = functools.partial(worst_cell_error, *tails, fine=fine)
    least, most = worst(n) if n <= MOST_CELLS else (0.0, math.inf)
    return WorstCell(least * unit, min(most, float(simple.C)) * unit)
