"""Compute a sample of the book's numbers again, by code that imports nothing of the package.

``python -m benchmarks.recomputed`` reads the built pages at the paper's levels. Each number is
found in its sentence, and must be what numpy, scipy or the published file give: exactly, up to one
unit of its last digit, or within four standard errors where it is simulated here.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from bs4 import BeautifulSoup
from scipy import integrate, optimize, stats

from .checks import keep

EPSILON, RHO, DELTA = 0.5, 0.125, 1e-6
B = 2 / EPSILON  # the scale of a signed answer's noise
SIGNED = math.sqrt(2) * B
PAGES = Path("book/_build/html/notebooks")


def geometric_variance(epsilon: float) -> float:
    r = math.exp(-epsilon)
    return 2 * r / (1 - r) ** 2


def clipped_sum(d: int, mean: float, square: float) -> float:
    """Root error of a sum of d independent clipped empty cells."""
    return math.sqrt(d * (square - mean**2) + (d * mean) ** 2)


V, LIFT = geometric_variance(EPSILON), 1 / (2 * math.sinh(EPSILON))


def first_moments(d: float, D: float = SIGNED, epsilon: float = EPSILON) -> float:
    m = np.arange(1, 400 if epsilon > 0.1 else 40_000)
    return float(np.max(m - np.exp(np.minimum(epsilon * m, 700)) * D / d))


def excludes_from(epsilon: float) -> int:
    """Least d at which first moments exceed the signed error."""
    signed = math.sqrt(8) / epsilon
    d = 2
    while first_moments(d, signed, epsilon) <= signed:
        d += 1
    return d


def moments_zcdp(d: float, D: float, rho: float = RHO) -> float:
    m = np.arange(1.0, 400)
    L = np.log(d * m / D)
    fine = rho * m**2 <= L
    gap = np.sqrt(L[fine]) - math.sqrt(rho) * m[fine]
    return float(np.max(m[fine] * (1 - np.exp(-(gap**2)))))


def excludes_zcdp() -> int:
    signed = 1 / math.sqrt(RHO)
    return next(d for d in range(3, 10**4) if moments_zcdp(d, signed) > signed)


@cache
def theorem_3(d: float) -> float:
    """Largest C that the printed pure bound excludes at the signed answers' D, real k."""

    def violated(C: float) -> bool:
        k = np.geomspace(1e-3, 1e3, 20_000)
        left = 2 * EPSILON * (2 * C + k)
        return bool(np.any(left < np.log(k * (d - 1) / (16 * C + 8 * SIGNED + 4 * k))))

    low, high = 0.0, 100.0
    for _ in range(60):
        C = (low + high) / 2
        low, high = (C, high) if violated(C) else (low, C)
    return low


@cache
def difficult(d: int = 1000, q: int = 14, runs: int = 20_000) -> dict[str, tuple[float, float]]:
    """Means and standard errors of both fits on the table with one cell of q records."""
    rng = np.random.default_rng(20_261)
    told: dict[str, list[float]] = {"lost": [], "level": [], "cell": [], "nnls": []}
    for _ in range(runs):
        z = rng.laplace(scale=B, size=d)
        z[0] += q
        total = q + rng.laplace(scale=B)
        down = np.sort(z)[::-1]
        sums, k = np.cumsum(down), np.arange(1, d + 1)
        kept = (sums - max(total, 0)) / k
        level = kept[np.flatnonzero(down > kept)[-1]] if total > 0 else down[0]
        nonneg = (sums - total) / (k + 1)
        last = int((down > nonneg).sum()) - 1
        fitted = total + nonneg[last] if last >= 0 else 0.0
        told["lost"].append(z[0] <= level)
        told["level"].append(level)
        told["cell"].append((max(z[0] - level, 0) - q) ** 2)
        told["nnls"].append(fitted)
    return {n: (np.mean(v), np.std(v) / math.sqrt(runs)) for n, v in told.items()}


def rooted(pair: tuple[float, float]) -> tuple[float, float]:
    return math.sqrt(pair[0]), pair[1] / (2 * math.sqrt(pair[0]))


@cache
def huge_cell(d: int, normal: bool = False, runs: int = 40_000) -> tuple[float, float]:
    """Root error of one huge cell among empty ones with keep the sum, from the upper noises."""
    rng = np.random.default_rng(7)
    law = stats.norm(scale=1 / math.sqrt(RHO)) if normal else stats.laplace(scale=B)
    top = min(d - 1, 300)
    # The largest of d - 1 noises, downwards, from exponential spacings.
    spacings = rng.exponential(size=(runs, top)) / np.arange(d - 1, d - 1 - top, -1)
    z = law.isf(-np.expm1(-np.cumsum(spacings, axis=1)))
    w, own = law.rvs((2, runs), random_state=rng)
    # The level g solves g = own - w + the sum of what exceeds it.
    levels = ((own - w)[:, None] + np.cumsum(z, axis=1)) / np.arange(2, top + 2)
    above = (z > levels).sum(axis=1)
    g = np.where(above, levels[np.arange(runs), above - 1], own - w)
    squares = (g - own) ** 2
    return rooted((np.mean(squares), np.std(squares) / math.sqrt(runs)))


def truncated(bound: int) -> np.ndarray:
    """Law of the double geometric noise of half the budget, cut off at a bound."""
    r, k = math.exp(-EPSILON / 2), np.arange(-bound, bound + 1)
    law = (1 - r) / (1 + r) * r ** np.abs(k)
    law[[0, -1]] = r**bound / (1 + r)
    return law


def least_bound() -> int:
    def delta(bound: int) -> float:
        p = truncated(bound)
        one, two = np.r_[p, 0], np.r_[0, p]
        return float(np.maximum(two - math.exp(EPSILON / 2) * one, 0).sum())

    return next(b for b in range(2, 200) if delta(b) <= DELTA / 2)


def truncated_ceiling() -> float:
    bound = least_bound()
    variance = float(np.arange(-bound, bound + 1) ** 2 @ truncated(bound))
    return math.sqrt(bound**2 + 2 * variance)


def constant(lam: float) -> float:
    """Leading constant c with Lambda(c) = lambda, by quadrature of its definition."""

    def variance(r: float) -> float:
        return 1 / (4 * math.sinh(r / 2) ** 2)

    def Lambda(c: float) -> float:
        mean, _ = integrate.quad(
            lambda v: 2 * v * variance((1 - v / (2 * c)) * EPSILON), 0, 1, epsabs=1e-12
        )
        return EPSILON**2 * (variance(EPSILON) + mean)

    if lam < 0:
        return Lambda(1)
    return float(optimize.brentq(lambda c: Lambda(c) - lam, 0.6, 50))


def paper_constants(d: int) -> float:
    """Signed errors that the paper's proof of Theorem 4.3 allows a cell."""
    L = math.log(d)
    squares = 2 * B**2 + 4 * B * B * (L + 1) + 4 * B**2 * (L**2 + 2 * L + 2)
    return math.sqrt(squares) / SIGNED


def normal_largest(d: int) -> float:
    """Mean of the largest of d standard normal noises in absolute value."""
    return integrate.quad(lambda t: -np.expm1(d * np.log1p(-2 * stats.norm.sf(t))), 1e-9, 12)[0]


def discrete_gaussian(sigma2: float = 1 / (2 * RHO)) -> tuple[float, float]:
    """Mean and mean square of an empty cell that zCDP clips."""
    k = np.arange(-200, 201)
    p = np.exp(-(k**2) / (2 * sigma2))
    p /= p.sum()
    return float(np.maximum(k, 0) @ p), float(np.maximum(k, 0) ** 2 @ p)


def clip_zcdp(d: int) -> float:
    return clipped_sum(d, *discrete_gaussian()) * math.sqrt(RHO)


def huge_zcdp(d: int) -> tuple[float, float]:
    root, error = huge_cell(d, normal=True)
    return root * math.sqrt(RHO), error * math.sqrt(RHO)


@cache
def dice(n: int, rounds: int = 1) -> tuple[float, float, float, float]:
    """Signed deviation, clipped mean and deviation, chance that the signed sum is farther."""
    joint = np.zeros((2 * 5 * n * rounds + 1, 5 * n * rounds + 1))
    joint[5 * n * rounds, 0] = 1
    for _ in range(n * rounds):
        new = np.zeros_like(joint)
        for t in range(-5, 6):
            moved = np.roll(joint, (t, max(t, 0)), axis=(0, 1))
            new += (6 - abs(t)) / 36 * moved
        joint = new
    signed = np.arange(-5 * n * rounds, 5 * n * rounds + 1)
    clipped = np.arange(5 * n * rounds + 1)
    s, c = joint.sum(axis=1), joint.sum(axis=0)
    mean = float(clipped @ c)
    farther = float(joint[np.abs(signed)[:, None] > clipped].sum())
    spread = math.sqrt(float(clipped**2 @ c) - mean**2)
    return math.sqrt(float(signed**2 @ s)), mean, spread, 100 * farther


@cache
def published() -> pd.DataFrame:
    return pd.read_csv("data/published_tables.csv")


def printed(query_set: str, metric: str, method: str, table: int | None = None) -> pd.Series:
    rows, wanted = published(), {"query_set": query_set, "metric": metric, "method": method}
    for column, value in wanted.items():
        rows = rows[rows[column] == value]
    rows = rows if table is None else rows[rows["paper_table"] == table]
    return rows.set_index("dataset")["squared_error"]


def ratio(method: str) -> pd.Series:
    return printed("sum", "total", method) / printed("sum", "total", "ols")


def within_one() -> float:
    inside = integrate.quad(lambda x: x**2 * math.exp(-x), 0, math.sqrt(2))[0]
    return inside / (1 - math.exp(-math.sqrt(2))) / 2


def two_huge(cells: int, runs: int = 20_000) -> tuple[float, float]:
    """Root error, in noise scales, of a huge cell where some of 1,000 are huge."""
    rng = np.random.default_rng(3)
    squares = []
    for _ in range(runs):
        z, w = rng.laplace(size=1000), rng.laplace()
        z[:cells] += 1e6
        down = np.sort(z)[::-1]
        levels = (np.cumsum(down) - cells * 1e6 - w) / np.arange(1, 1001)
        squares.append((z[0] - levels[np.flatnonzero(down > levels)[-1]] - 1e6) ** 2)
    return rooted((np.mean(squares), np.std(squares) / math.sqrt(runs)))


def _percent(pair: tuple[float, float]) -> tuple[float, float]:
    return 100 * pair[0], 100 * pair[1]


def _in_signed(pair: tuple[float, float]) -> tuple[float, float]:
    return pair[0] / SIGNED, pair[1] / SIGNED


def max_error(q: int) -> float:
    """Root error of a noisy sum of q records that is cut at 0."""
    square = integrate.quad(lambda z: z**2 * math.exp(-abs(z) / B) / (2 * B), -q, 400)[0]
    return math.sqrt(square + q**2 * math.exp(-q / B) / 2)


def full_enough(d: int) -> int:
    """Least count of d cells with which none is negative in 95 of 100 draws."""
    return next(q for q in range(200) if 1 - (1 - math.exp(-q / B) / 2) ** d <= 0.05)


def clip_sum_bound(d: int) -> float:
    """First moments' bound on D where the cells are as good as clip's."""
    m = np.arange(1, 100)
    return float(d * np.max(np.exp(-EPSILON * m) * (m - math.sqrt(V))))


def balanced(d: int) -> float:
    """Least x with m - x <= e^(epsilon m) x / d for all m."""
    m = np.arange(1, 200)
    return float(np.max(m / (1 + np.exp(EPSILON * m) / d)))


N = r"(−?\d[\d,]*\.?\d*)"
SAMPLE: list[tuple[str, str, Callable[[], object]]] = [
    ("difficult_table", "vanishes in {} of 100 releases", lambda: _percent(difficult()["lost"])),
    ("difficult_table", "the total of 14 becomes {}", lambda: difficult()["nnls"]),
    ("difficult_table", "takes {} ± .{1,9} records off every cell", lambda: difficult()["level"]),
    ("difficult_table", "an error of {} records", lambda: SIGNED),
    ("difficult_table", "together have {} records too many", lambda: 999 * B / 2),
    (
        "difficult_table",
        "errs {} times as much as signed",
        lambda: clipped_sum(1000, LIFT, V / 2) / SIGNED,
    ),
    ("difficult_table", "keep the sum {} times in a count", lambda: _in_signed(huge_cell(1000))),
    (
        "difficult_table",
        "at least {} times as much as a signed",
        lambda: first_moments(1000) / SIGNED,
    ),
    ("difficult_table", "1,000 counts, and {} times", lambda: first_moments(10**6) / SIGNED),
    ("difficult_table", r"keep the sum the sum .{3,20} (5\.\d+) 0", lambda: max_error(14)),
    (
        "difficult_table",
        "the sum of NNLS is {} ± .{1,9} on average",
        lambda: difficult(q=56, runs=5000)["nnls"],
    ),
    ("privacy_and_errors", "least squares: cell {}", lambda: 2 * B**2 * 10 / 11),
    ("privacy_and_errors", "exact.{0,40}: {} records at a million", lambda: huge_cell(10**6)),
    ("privacy_and_errors", "at a million, {} signed errors", lambda: _in_signed(huge_cell(10**6))),
    ("privacy_and_errors", "exactly from {} records", lambda: full_enough(1000)),
    ("privacy_and_errors", "by the union bound {}", lambda: B * math.log(10_000)),
    ("privacy_and_errors", "theta = 0.1: C = {}", lambda: math.sqrt(2) / (0.9 * EPSILON)),
    ("privacy_and_errors", "theta = 0.3: C = 4.04, D = {}", lambda: math.sqrt(2) / (0.3 * EPSILON)),
    ("why_someone_pays", "errs by at least {} records", lambda: first_moments(1000)),
    ("why_someone_pays", "D at least {}", lambda: clip_sum_bound(1000)),
    ("why_someone_pays", "clip’s own sum errs by {}", lambda: clipped_sum(1000, LIFT, V / 2)),
    ("why_someone_pays", "asks for a .{1,9} of {} records", lambda: theorem_3(1e12)),
    ("why_someone_pays", r"printed: \[ ?{}", lambda: theorem_3(1e4)),
    ("why_someone_pays", "Theorem 3: .{1,9} {}", lambda: theorem_3(1e9) / SIGNED),
    ("why_someone_pays", "first moments: .{1,9} {} 3.53", lambda: first_moments(1e9) / SIGNED),
    ("why_someone_pays", "3.53 {}", lambda: moments_zcdp(1e9, RHO**-0.5) * RHO**0.5),
    ("why_someone_pays", "first moments: .{1,9} {} 132 410", lambda: excludes_from(EPSILON)),
    ("why_someone_pays", "132 132 {}", lambda: excludes_zcdp()),
    ("why_someone_pays", "6: {}, 7:", lambda: first_moments(1000, math.sqrt(8), 1.0)),
    ("what_can_be_reached", "empty cell gains {} records", lambda: LIFT),
    ("what_can_be_reached", "its squared error is {}", lambda: V / 2),
    (
        "what_can_be_reached",
        "absolute value, is {} scales",
        lambda: float(np.sum(1 / np.arange(1, 10**6 + 1))),
    ),
    ("what_can_be_reached", "would allow {}", lambda: paper_constants(1000)),
    ("what_can_be_reached", "that is private, .{0,9}B = {}", lambda: least_bound()),
    ("what_can_be_reached", "errs by at most {} records", lambda: truncated_ceiling()),
    ("what_can_be_reached", "bias squared {}", lambda: (100 * LIFT) ** 2),
    ("what_can_be_reached", "all the rest {}", lambda: 100 * (V / 2 - LIFT**2) + V),
    ("plane", "zCDP clip, .{1,9} exact 0.707 {}", lambda: clip_zcdp(1000)),
    ("plane", "zCDP keep the sum, .{1,9} on its worst table {} 1", lambda: huge_zcdp(1000)),
    ("plane", "first moments exclude signed answers from {} cells", lambda: excludes_from(EPSILON)),
    ("plane", "easy .{3,12} 0.495 {}", lambda: math.sqrt(1000 * V) / SIGNED),
    ("plane", "the larger error is at least {}", lambda: balanced(10**6) / SIGNED),
    ("plane", "epsilon = 10: from d = {}", lambda: excludes_from(10.0)),
    ("plane", "epsilon = 0.01: from d = {}", lambda: excludes_from(0.01)),
    ("how_large", "First moments prove {}", lambda: clip_sum_bound(1000) / SIGNED),
    ("how_large", "the wall .{3,20} = {}", lambda: EPSILON**2 / (2 * math.sinh(EPSILON / 2) ** 2)),
    ("how_large", "constant is 1 from .{3,20} = {}", lambda: constant(-1)),
    ("how_large", "at lambda = 3 the constant is {}", lambda: constant(3)),
    ("how_large", "asymmetric noise tends to {}", lambda: 1 / (1 - 1 / math.sqrt(7))),
    ("how_large", "wall is at .{3,20} = {}", lambda: RHO / math.expm1(2 * RHO)),
    ("how_large", "clip’s to {}", lambda: EPSILON * LIFT),
    ("how_large", "1 {} ± .{1,9} noise scales", lambda: two_huge(1)),
    ("how_large", "2 {} ± .{1,9} noise scales", lambda: two_huge(2)),
    ("scorecard", "[25] of 16 rows; {} to", lambda: float(ratio("nnls").min())),
    ("scorecard", "5 of 16 rows; 2.80 to {}", lambda: float(ratio("nnls").max())),
    (
        "scorecard",
        "column runs from {}",
        lambda: float(printed("sum", "total", "sequential", 1).min()),
    ),
    (
        "scorecard",
        "column runs from 85.7 to {}",
        lambda: float(printed("sum", "total", "sequential", 1).max()),
    ),
    ("scorecard", "within one deviation: {}", within_one),
    ("dice", "clipped total is {} on average", lambda: dice(24)[1]),
    ("dice", "standard deviation of {}", lambda: dice(24)[2]),
    ("dice", "a street contributes {}", lambda: dice(1)[1]),
    ("dice", "In {} % of single rounds", lambda: dice(24)[3]),
    ("dice", "{} % of two rounds", lambda: dice(24, 2)[3]),
    ("misprints", "of clipping is {}", lambda: clipped_sum(10**4, LIFT, V / 2)),
    ("misprints", "printed noise has the variance {}", lambda: geometric_variance(1 / EPSILON)),
    (
        "misprints",
        "the exact term is {}",
        lambda: 1e6 * DELTA * -math.expm1(-6 * EPSILON) / math.expm1(EPSILON),
    ),
    ("misprints", "the mean is {}", lambda: normal_largest(1000)),
]


def main() -> int:
    """Print each number beside the book's; return 1 if one differs or is not found."""
    texts: dict[str, str] = {}
    wrong = 0
    for page, pattern, compute in SAMPLE:
        if page not in texts:
            soup = BeautifulSoup(
                (PAGES / f"{page}.html").read_text(encoding="utf-8"), "html.parser"
            )
            texts[page] = " ".join(soup.find("article").get_text().split())
        found = re.search(pattern.replace("{}", N), texts[page])
        value = compute()
        value, error = value if isinstance(value, tuple) else (value, 0.0)
        said = found[1].replace(",", "").replace("−", "-") if found else "nan"
        own = re.match(r" ± (\d*\.?\d+)", texts[page][found.end(1) :]) if found else None
        error = math.hypot(error, float(own[1]) if own else 0.0)  # the page's, and that of here
        # Of four and more digits before the point three are written: 9,600.
        unit = 10.0 if re.fullmatch(r"\d{3}0", said) else 10.0 ** -len(said.partition(".")[2])
        fine = found is not None and abs(float(said) - value) <= unit * (1 + 1e-9) + 4 * error
        wrong += not fine
        print(f"{'' if fine else 'DIFFERS '}{page}: {pattern}\n    {said}, here {value:.6g}")
    print(f"{len(SAMPLE)} numbers, {wrong} of them differ")
    if "--keep" in sys.argv:
        keep("numbers", {"the pages": (len(SAMPLE), len(SAMPLE) - wrong)})
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
