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

from ...model.noise import Gaussian, positive
from ...model.privacy import ConcentratedDP, PureDP, check_guarantee
from ..given import check_cells
from .asymmetric import best_rates, certified_asymmetric
from .excess_gaussian import GaussianExcess
from .one_sided import certified_split

Array = NDArray[np.float64]

MOST_CELLS = 1e70
"""Up to this d the sum over the number of excesses is short."""
MOST_SUM = 30.0
"""Up to this D, in 1/epsilon or 1/sqrt(rho), the quadrature has enough panels."""
_FAR, _CUTS = 42.0, (0.25, 1.0)  # decays of a tail, beyond which nothing is left; its panels
_PARTS = 4  # in which sums of different lengths are added up
_MARGIN = 3.5  # standard deviations of a mean
_CLOSE, _HUGE = 1e-9, 1e100  # how near D may come to its least; beyond, rates change no more
_PER_ROOT, _MORE, _MANY = 10.0, 20.0, 6.0  # roots of the number of terms of a sum, and its most
_STEPS, _AHEAD = (2.5, 8.0), (5.0, 15.0)  # deviations, decays about the threshold, of panels
_SURE = 9.0  # standard deviations of Gaussian noise, beyond which nothing is left
_INSIDE = (-9.0, -5.0, -2.0, 2.0, 5.0)  # standard deviations at which its panels end
_ONWARD, _SHARES = (0, 1, 3, 5, 9), (0.3, 0.1, 0.03, 0.01, 1e-3)  # of the threshold's spread
_PLACES = np.linspace(-_SURE, 30.0, 1000)  # standard deviations, among which thresholds are read
_OFF = 1e-5  # relative: more than the quadrature errs by (2e-6 at most, measured, not proved)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


class WorstCell(NamedTuple):
    """Ends of the worst cell error over all tables, in counts."""

    least: float
    most: float


_NOTHING = WorstCell(0.0, math.inf)


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


def worst_cell_error(cell: TwoTails, total: TwoTails, d: float) -> WorstCell:
    """Return both ends of C, the worst cell error of a fit to a noisy sum with asymmetric noise.

    The sum's noise is centred. The lower end is ``|Lam+|``, the upper one bounds ``|max(Lam+,
    O)|``; both leave room for the quadrature's error.

    Examples
    --------
    >>> found = worst_cell_error(TwoTails(0.5, 0.5), TwoTails(0.5, 0.5), 1000)
    >>> round(found.least / math.sqrt(8), 2), round(found.most / math.sqrt(8), 2)
    (3.45, 3.48)
    """
    n = check_cells(d)
    R, L = cell
    margin, apart = margin_of_mean(cell.cumulant, total.cumulant, n)
    rise = math.log(n * L / (R + L))
    half = float(special.wrightomega(rise + math.log(2))) / (2 * R)  # where the level is z
    ends = {0.0, cell.mean, -margin, half, *(c * x for c in _CUTS for x in (-_FAR / L, _FAR / R))}
    z, weights = (x[0] for x in panels(np.array([sorted(ends)]), 1))
    weights = weights * R * L / (R + L) * np.exp(np.where(z > 0, -R * z, L * z))
    floor = np.maximum(z - cell.mean, 0) + margin
    level = special.wrightomega(rise - R * z) / R  # the t that is the mean of H(z + t)
    low, high = _beyond(cell, total, n, z, floor, level)
    return _sure(weights @ low, weights @ (floor**2 + high), apart)


def _sure(least: float, most: float, apart: float) -> WorstCell:
    return WorstCell(math.sqrt(least) * (1 - _OFF), (math.sqrt(most) + apart) * (1 + _OFF))


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
    cell: TwoTails, total: TwoTails, d: float, z: Array, floor: Array, level: Array
) -> tuple[Array, Array]:
    """Return integrals of ``2 t P(Lam > t | z)``: over all t, at least; beyond floor, at most."""
    R, far = cell.right, _FAR / min(cell.right, total.left)
    spread = np.sqrt(total.cumulant(2) + 2 * level / R)
    kinks = [np.full(z.shape, total.mean), -z, floor, level, *(level + k / R for k in _AHEAD)]
    for k in _STEPS:
        kinks += [level - np.log1p(k * spread / level) / R, level + k * spread / (1 + R * level)]
    last = np.maximum(floor, level)
    breaks = np.stack([0 * z, *kinks, *(last + share * far for share in _CUTS)], axis=1)
    t, weights = panels(np.sort(np.clip(breaks, 0, last[:, None] + far), axis=1), 1)
    # H falls in g: where g < 0 it exceeds as often as H(0), and at most always.
    g, weights = z[:, None] + t, weights * 2 * t
    chance = _exceeds(cell, total, d, np.maximum(g, 0), t)
    most = np.where(g < 0, 1, chance) * (t > floor[:, None])
    return (weights * chance).sum(axis=1), (weights * most).sum(axis=1)


def _exceeds(cell: TwoTails, total: TwoTails, d: float, g: Array, t: Array) -> Array:
    """Return ``P(H(g) > t + w)``, g >= 0.

    Given k excesses, H is a Gamma variable of shape k and rate R. Its law against an exponential
    variable is a sum of Poisson weights, in three recursions over k without cancellation.
    """
    (R, L), (r, left) = cell, total
    p, c = L / (R + L) * np.exp(-R * g), t - total.mean
    # Of many excesses only w's right tail is not exceeded.
    tail = min(r, R)
    rest = (d - 1) * np.log1p(-p * tail / (R + tail)) + tail * c + math.log(left / (r + left))
    out = -np.expm1(np.minimum(rest, 0))
    some = np.flatnonzero(np.sqrt((d - 1) * p) < np.sqrt(R * np.maximum(c, 0)) + _MANY)
    # Where few excesses are likely the sums are short.
    for part in np.array_split(some[p.flat[some].argsort()], _PARTS):
        if part.size:
            out.flat[part] = _summed(cell, total, d - 1, p.flat[part], c.flat[part])
    return np.asarray(out)


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
    law = GaussianExcess(s, total.std, n - 1)
    margin, apart = margin_of_mean(_only_square(cell), _only_square(total), n)
    # The threshold is about where H's mean is g; from place to place it falls.
    places = s * _PLACES
    mean, square = law.moments(places)
    level = float(np.interp(0, places - mean, places))
    spread = math.sqrt(s**2 + total.variance + np.interp(level, places, square))
    heights = [*(level + k * spread for k in _ONWARD), *(k * spread for k in _SHARES)]
    near = [margin, *(x + k * s for x in (0, margin) for k in _INSIDE)]
    far = [*(k * spread for k in _ONWARD), *np.interp(-np.log(heights), -np.log(mean), places)]
    g, across = (x[0] for x in panels(np.sort(near + far).reshape(1, -1), 2))
    start, (mean, square) = np.maximum(margin, (g + margin) / 2), law.moments(g)
    spreads = np.sqrt(total.variance + square)
    # The cell's noise g - t matters within 9 standard deviations of 0.
    kinks = [start, mean, *(g + k * s for k in _INSIDE)]
    kinks += [mean + k * spreads for step in _STEPS for k in (-step, step)]
    last = np.maximum(g, 0) + _SURE * s
    breaks = np.clip(np.stack([0 * g, *kinks, last], axis=1), 0, last[:, None])
    t, weights = panels(np.sort(breaks, axis=1), 1)
    beyond = weights * 2 * t * (1 - law.below(g, t)) * cell.pdf(g[:, None] - t)
    low, high = across @ beyond.sum(axis=1), across @ (beyond * (t > start[:, None])).sum(axis=1)
    empty = s**2 / 2 + 2 * margin * s / math.sqrt(2 * math.pi) + margin**2
    return _sure(low, empty + high, apart)


def _only_square(noise: Gaussian) -> Callable[[int], float]:
    return lambda k: noise.variance * (k == 2)


@functools.cache
def certified_fit(
    guarantee: PureDP | ConcentratedDP, d: float, sum_error: float, *, even: bool
) -> WorstCell:
    """Return both ends of C for the fit that spends just enough on the sum; infinite if none does.

    The upper end is the smaller one of the worst table's and of the one-sided lemma's
    (`one_sided`), which is sharper for few cells; beyond `MOST_CELLS` or `MOST_SUM` it stands
    alone, and the lower end is 0.

    Examples
    --------
    >>> found = certified_fit(PureDP(0.5), 1000, math.sqrt(32), even=False)
    >>> round(found.most, 2)
    18.45
    """
    unit = float(check_guarantee(guarantee, PureDP, ConcentratedDP).records(np.ones(())))
    n, D = check_cells(d), positive(sum_error, "the sum error", " of counts") / unit
    if isinstance(guarantee, ConcentratedDP):
        share = 0.5 / D**2
        if not share < 1:
            return _NOTHING
        simple = certified_split(ConcentratedDP(1.0), n, share)
        noises = Gaussian(math.sqrt(0.5 / (1 - share))), Gaussian(D)
        worst = functools.partial(worst_gaussian_cell_error, *noises)
    else:
        if math.sqrt(2) * (1 + _CLOSE) >= D:
            return _NOTHING
        right = left = math.sqrt(2) / D
        if not even:
            right, left = (float(x) for x in best_rates(1.0, min(n, _HUGE), D))
        simple = certified_asymmetric(1.0, n, right, left)
        tails = TwoTails(1 - right, 1 - left), TwoTails(right, left)
        worst = functools.partial(worst_cell_error, *tails)
    least, most = worst(n) if n <= MOST_CELLS and D <= MOST_SUM else _NOTHING
    return WorstCell(least * unit, min(most, float(simple.C)) * unit)
