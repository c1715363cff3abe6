"""The leading constant: its limits, asymmetric noise at sizes that occur, frozen counts."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import Mean, at_least, at_most, format_number, runs_within
from ..model.noise_asymmetric import AsymmetricLaplace
from ..model.privacy import PureDP
from ..page.output import Caption
from ..theory.difficult import difficult_table
from ..theory.laws.audit import Audit, audit_asymmetric
from ..theory.lower.lower_bounds import point_error_bound
from ..theory.upper.asymmetric import AsymmetricPair, asymmetric_pair, best_rates
from ..theory.upper.asymmetric import certified_asymmetric as certify
from ..theory.upper.fitted_errors import cell_errors
from ..theory.upper.freezing import Freezing, cell_share, leading_limits, threshold_limit
from ..theory.upper.one_sided import certified_split
from ..theory.upper.operating_points import half_budget_noise
from ..theory.upper.projection import project
from ..theory.upper.upper_bounds import certified

Array = NDArray[np.float64]

SIZES = (10**3, 10**6, 10**9, 10**12)
SIGNED = 8.0
"""Lambda of a signed answer: its root error is the root of 8 over epsilon."""
_AT_ONCE = 2_000_000  # numbers held
_FAR = 1e7  # records of a cell that noise does not bring to 0
_ETA = 0.02  # the sliver of the budget, and the least ln nu over ln d


@dataclass(frozen=True)
class Run:
    """Simulated squared errors of one mechanism on one table, in squared counts."""

    mechanism: str
    table: str
    cell: Mean
    total: Mean
    exact: float


@dataclass(frozen=True, eq=False)
class Findings:
    """What asymmetric noise gives at one level and size.

    Parameters
    ----------
    epsilon, d, runs
        The level, the cells and the repetitions.
    pair, whole
        The noises that certify the least C at a signed answer's sum; the same on whole numbers.
    audit
        The exact privacy loss of the noise on whole numbers.
    simulated
        Errors on the worst tables known.
    """

    epsilon: float
    d: int
    runs: int
    pair: AsymmetricPair
    whole: AsymmetricPair
    audit: Audit
    simulated: tuple[Run, ...]

    @functools.cached_property
    def sizes(self) -> Array:
        """Numbers of cells of the picture."""
        return np.unique(np.round(np.geomspace(10, 1e12, 34)))

    @functools.cached_property
    def curves(self) -> tuple[tuple[str, Array], ...]:
        """What is certified at a signed answer's sum, in units of 1/epsilon, for each mechanism."""
        rates = best_rates(1.0, self.sizes, math.sqrt(SIGNED))
        return (
            ("asymmetric", certify(1.0, self.sizes, rates.right, rates.left).C),
            ("split budget", certified_split(PureDP(1.0), self.sizes).C),
            ("older bound", certified(PureDP(1.0), self.sizes).C),
        )

    @functools.cached_property
    def lower(self) -> Array:
        """The first-moment bound at a signed answer's sum, in units of 1/epsilon."""
        g = PureDP(self.epsilon)
        bound = point_error_bound("first_moment", g, self.sizes, g.signed_error)
        return np.asarray(self.epsilon * bound)

    @functools.cached_property
    def columns(self) -> tuple[tuple[float, float, float, float], ...]:
        """At each of `SIZES`: asymmetric, one-sided, both tails, and the lower bound."""
        found = []
        g = PureDP(self.epsilon)
        for d in SIZES:
            rates = best_rates(1.0, d, math.sqrt(SIGNED))
            found.append(
                (
                    float(certify(1.0, d, rates.right, rates.left).C),
                    float(certified_split(PureDP(1.0), d).C),
                    float(certified(PureDP(1.0), d).C),
                    self.epsilon * float(point_error_bound("first_moment", g, d, g.signed_error)),
                )
            )
        return tuple(found)

    @property
    def columns_table(self) -> pd.DataFrame:
        """The three certificates and the lower bound, in units of 1/epsilon."""
        rows = []
        for d, (uneven, even, both, lower) in zip(SIZES, self.columns, strict=True):
            rows.append(
                {
                    "$d$": f"$10^{{{round(math.log10(d))}}}$",
                    "asymmetric noise": at_most(uneven, 4),
                    "split, one-sided": at_most(even, 4),
                    "split, both tails": at_most(both, 4),
                    "gain by asymmetry": f"{100 * (1 - uneven / even):.1f} %",
                    "lower bound": at_least(lower, 4),
                }
            )
        return pd.DataFrame(rows)

    @property
    def columns_caption(self) -> str:
        """What is said about the table of certificates."""
        return (
            "Upper bounds on $\\epsilon C$ for all tables, when the sum is as good as a signed "
            "answer's: asymmetric noise at its best rates, the split budget by the same one-sided "
            "lemma, and the split budget by the older bound with both tails. Last, what first "
            f"moments prove to be unavoidable at $\\epsilon = {format_number(self.epsilon)}$."
        )

    @property
    def opening(self) -> str:
        """What was found."""
        uneven, even, both, _ = self.columns[0]
        return (
            "**The price is known to its leading constant.** Keep the sum as good as a signed "
            "answer's. With very many cells $d$, some cell must then err by about "
            "$\\ln(d)/\\epsilon$, and a mechanism that we describe errs by no more: the least "
            "possible error is $(1 + o(1)) \\ln(d)/\\epsilon$ as $d \\to \\infty$. "
            "But that mechanism comes near its limit only at numbers of cells beyond any that "
            "occur. **Half of its idea is of use at once.** Noise whose two tails differ certifies "
            "$\\epsilon C \\le "
            f"{at_most(uneven, 4)}$ at a thousand cells, where a split budget certifies "
            f"{at_most(even, 4)} by the same argument, and {at_most(both, 4)} by the older one."
        )

    @property
    def certified_caption(self) -> Caption:
        """What is said about the picture of certificates."""
        uneven, even, both, lower = self.columns[-1]
        return Caption(
            "What is certain to be reached on every table, in units of $1/\\epsilon$, when the sum "
            f"is as good as a signed answer's. At $10^{{12}}$ cells it is {at_most(uneven, 4)} by "
            f"asymmetric noise, {at_most(even, 4)} by a split budget with the same one-sided lemma "
            f"and {at_most(both, 4)} with both tails; at least {at_least(lower, 4)} is "
            "unavoidable.",
            alt="Three rising lines against the number of cells on a logarithmic axis, the one of "
            "asymmetric noise lowest. A hatched region below a fourth rising line is impossible.",
        )

    @property
    def sides_caption(self) -> Caption:
        """What is said about the picture of what one record costs."""
        cell, total = self.pair.cell, self.pair.total
        largest = max(abs(cell.right - total.left), abs(total.right - cell.left)) / self.epsilon
        return Caption(
            "How one more record changes the log density, by the sides on which the noise of the "
            "cell (plain) and of the sum (hatched) lies; diamonds mark the two together. Both "
            "mechanisms use the whole budget, but only where both lie on one side. In the other "
            f"two cases at most {at_most(largest, 2)} of it is used by noise of two rates.",
            alt="Two panels of horizontal bars, for four cases each. In the first two cases the "
            "bars of cell and sum point the same way and their sum lies on a dashed line at the "
            "budget. In the last two they point in opposite ways and nearly cancel.",
        )

    @property
    def rates_said(self) -> str:
        """Which rates are best."""
        cell, total = self.pair.cell, self.pair.total
        shares = [format_number(x / self.epsilon, 2) for x in (cell.right, cell.left)]
        star = [format_number(x / self.epsilon, 2) for x in (total.right, total.left)]
        return (
            f"At $d = {format_number(self.d)}$ the best rates, in shares of $\\epsilon$, are "
            f"{shares[0]} (above) and {shares[1]} (below) for a cell, and {star[0]} and {star[1]} "
            "for the sum."
        )

    @property
    def audit_said(self) -> str:
        """What the exact audit on whole numbers found."""
        return (
            "On whole numbers, with asymmetric geometric noise of the same rates, the largest "
            "privacy loss over all pairs of outputs is exactly "
            f"{format_number(round(self.audit.worst, 9), 6)}, and {format_number(self.epsilon)} is "
            f"allowed. The sum then has $D = {format_number(self.whole.D)}$, beside "
            f"{format_number(self.pair.D)} with continuous noise, and $C \\le "
            f"{at_most(self.whole.C(self.d))}$ beside {at_most(self.pair.C(self.d))}."
        )

    @property
    def simulated_table(self) -> pd.DataFrame:
        """Errors on the worst tables known, with standard errors."""
        rows = []
        for r in self.simulated:
            root, error = math.sqrt(r.cell.value), r.cell.error
            rows.append(
                {
                    "table": r.table,
                    "noise": r.mechanism,
                    "root error of the full cell": format_number(root, se=error / (2 * root)),
                    "exactly": r.exact,
                    "root error of the sum": format_number(
                        math.sqrt(r.total.value), se=r.total.error / (2 * math.sqrt(r.total.value))
                    ),
                }
            )
        return pd.DataFrame(rows)

    @property
    def simulated_caption(self) -> str:
        """What is said about the simulated errors."""
        return (
            f"Root errors in records on two tables of {format_number(self.d)} cells, over "
            f"{self.runs:,} runs with standard errors: one huge count among empty cells, the worst "
            "table known, and the difficult table. What is computed exactly stands beside it. "
            f"Certified for every table: {at_most(self.pair.C(self.d))} with asymmetric noise."
        )

    @property
    def simulated_said(self) -> str:
        """Whether asymmetric noise is better on the worst table known."""
        by = {(r.mechanism, r.table): r.cell for r in self.simulated}
        even, uneven = by["symmetric", "one huge count"], by["asymmetric", "one huge count"]
        gap = even.value - uneven.value
        se = math.hypot(even.error, uneven.error)
        if gap > 4 * se:
            verdict = "asymmetric noise is better there too, and by more than chance"
        elif gap < -4 * se:
            verdict = "asymmetric noise is worse there: only its certificate is better"
        else:
            verdict = "the two cannot be told apart there in so many runs"
        return f"On the worst table known {verdict}."


def study(epsilon: float = 0.5, d: int = 1000, runs: int = 2000, seed: int = 1) -> Findings:
    """Find the best asymmetric noise, audit it, and simulate it on the worst tables known.

    Parameters
    ----------
    epsilon
        Pure differential privacy.
    d
        Cells, 2 or more.
    runs, seed
        Of the simulation; fewer runs are made with very many cells.

    Raises
    ------
    InputError
        A value out of range.

    Examples
    --------
    >>> found = study(runs=50)
    >>> found.audit.holds
    True
    """
    runs = runs_within(runs, d)
    pair, whole = asymmetric_pair(epsilon, d), asymmetric_pair(epsilon, d, whole=True)
    even = half_budget_noise(PureDP(epsilon))
    huge = np.zeros(d)
    huge[0] = _FAR
    rng = np.random.default_rng(seed)
    runs_of = []
    for name, table in (("one huge count", huge), ("difficult", difficult_table(d, epsilon))):
        count = math.inf if name == "one huge count" else float(table[0])
        exact = math.sqrt(cell_errors(even, even, d, count).squared_error)
        one = AsymmetricLaplace(epsilon / 2, epsilon / 2)
        scale = AsymmetricPair(one, one)
        for mechanism, noises in (("symmetric", scale), ("asymmetric", pair)):
            cell, total = _simulate(table, noises, runs, rng)
            known = exact if mechanism == "symmetric" else math.nan
            runs_of.append(Run(mechanism, name, cell, total, known))
    return Findings(epsilon, d, runs, pair, whole, audit_asymmetric(whole), tuple(runs_of))


def _simulate(
    table: Array, noises: AsymmetricPair, runs: int, rng: np.random.Generator
) -> tuple[Mean, Mean]:
    """Return the mean squared errors of the full cell and of the sum."""
    portion, cells, sums = max(1, _AT_ONCE // table.size), [], []
    for first in range(0, runs, portion):
        n = min(portion, runs - first)
        a = table + noises.cell.sample(rng, (n, table.size))
        total = table.sum() + noises.total.sample(rng, n) - noises.shift
        x = project(a, np.maximum(total, 0))
        cells.append((x[:, 0] - table[0]) ** 2)
        sums.append((np.maximum(total, 0) - table.sum()) ** 2)
    return Mean.of(np.concatenate(cells)), Mean.of(np.concatenate(sums))


@dataclass(frozen=True, eq=False)
class Asymptotics:
    """Limits for d to infinity, and how far from them real numbers of cells are.

    Parameters
    ----------
    epsilon, log_d
        The level, and the logarithm of the number of cells of the pictures.
    """

    epsilon: float
    log_d: float

    @property
    def lambdas(self) -> Array:
        """Where the limits are drawn."""
        return np.geomspace(2.02, 60, 240)

    @functools.cached_property
    def curves(self) -> tuple[tuple[str, Array], ...]:
        """The limits of three mechanisms, the best first."""
        found = [leading_limits(float(x)) for x in self.lambdas]
        return (
            ("freezing", np.array([f.freezing for f in found])),
            ("asymmetric noise", np.array([f.asymmetric for f in found])),
            ("split budget", np.array([f.split for f in found])),
        )

    @property
    def limits_caption(self) -> Caption:
        """What is said about the picture of limits."""
        signed = leading_limits(SIGNED)
        return Caption(
            "The leading constant $\\epsilon C/\\ln d$ against $\\lambda = (\\epsilon D)^2$. At "
            f"the signed answers' $\\lambda = 8$ a split budget has {format_number(signed.split)}, "
            f"asymmetric noise {format_number(signed.asymmetric, 4)}, and freezing "
            f"{format_number(signed.freezing)}, which no mechanism can undercut. Between 2 and 5 "
            "the constant is open (shaded).",
            alt="Three falling curves against lambda on a logarithmic axis: split budget highest, "
            "then asymmetric noise, then freezing, which reaches the line at one where lambda is "
            "five and stays on it. Below one is a hatched region that no mechanism reaches.",
        )

    @functools.cached_property
    def case(self) -> Freezing:
        """The mechanism at a signed answer's lambda, with few cells in use."""
        return Freezing(
            self.epsilon, self.log_d, cell_share(SIGNED), _ETA, _ETA * self.log_d, few=True
        )

    @functools.cached_property
    def reports(self) -> tuple[Array, Array]:
        """Counts in ``ln(d)/e`` and logarithms of the chance of a report in ``ln d``."""
        case = self.case
        q = np.unique(np.round(np.linspace(0, 1.35 * case.threshold, 400)))
        silent = case.log_silent(q)
        below = np.logaddexp(case.log_phi, case.log_p - case.e * np.maximum(case.G - q, 0))
        with np.errstate(divide="ignore"):
            beyond = np.log(-np.expm1(silent))
        # Beyond G the chance is that of the noise; there it can be told from 0 in any case.
        cell, gap = case.cell, np.minimum(q - case.threshold, 0)
        share = math.log(cell.left) - math.log(cell.left + cell.right)
        tail = np.where(q < case.threshold, share + cell.right * gap, beyond)
        chance = np.where(q == 0, case.log_phi, np.where(q < case.G, below, tail))
        return q / case.T, chance / self.log_d

    @property
    def reports_caption(self) -> Caption:
        """What is said about the picture of frozen counts."""
        case = self.case
        return Caption(
            f"How the chance of a report grows with a cell's count, at $\\ln d = "
            f"{format_number(self.log_d)}$. An empty cell reports with a chance of about "
            "$1/d$. Below $G$ the chance grows by a factor $e^{\\tau}$ with each record, the most "
            "that privacy allows. Beyond $G$ it grows at the slower rate of the cell's own noise. "
            f"The threshold lies at {format_number(case.threshold / case.T)} times "
            "$\\ln(d)/\\tau$.",
            alt="A line that is flat at first, then rises steeply through a shaded region of "
            "frozen counts, then less steeply, and levels off at a dashed line, the threshold.",
        )

    @functools.cached_property
    def kappas(self) -> Array:
        """Where thresholds are drawn."""
        return np.linspace(_ETA, 1, 99)

    @functools.cached_property
    def thresholds(self) -> tuple[tuple[str, Array], ...]:
        """Thresholds over their leading term, at three numbers of cells."""
        found = []
        for power in (2, 3, 5):
            L = 10.0**power
            y = [
                (c := Freezing(self.epsilon, L, cell_share(SIGNED), _ETA, k * L)).threshold / c.T
                for k in self.kappas
            ]
            found.append((f"$\\ln d = 10^{{{power}}}$", np.array(y)))
        return tuple(found)

    @property
    def limit(self) -> Array:
        """The limit of the thresholds."""
        return threshold_limit(cell_share(SIGNED), self.kappas)

    @property
    def thresholds_caption(self) -> Caption:
        """What is said about the picture of thresholds."""
        first, last = (float(y.max()) for _, y in (self.thresholds[0], self.thresholds[-1]))
        return Caption(
            "The threshold over its leading term $\\ln(d)/\\tau$, against how many cells hold "
            f"records, at $\\lambda = 8$. At $\\ln d = 100$, which is more than $10^{{43}}$ cells, "
            f"the highest threshold is still {format_number(first)} times that term; at "
            f"$\\ln d = 10^5$ it is {format_number(last)} times.",
            alt="Three curves that fall with kappa, each nearer than the one above to a black "
            "limit that starts at one and falls to zero.",
        )

    @property
    def practice_said(self) -> str:
        """What the theorem says about numbers of cells that occur."""
        freezing, asymmetric = self.at_trillion
        verdict = "less" if freezing < asymmetric else "more"
        return (
            "**This is a statement about $d \\to \\infty$ only.** The second-order terms are about "
            "$2\\sqrt{\\ln d}/\\epsilon$, and the small shares $\\eta$ of the budget. At $10^{12}$ "
            f"cells and $\\eta = {format_number(_ETA)}$ the threshold alone is "
            f"{format_number(freezing)} times $\\ln(d)/\\epsilon$, {verdict} than the "
            f"{at_most(asymmetric)} that asymmetric noise certifies for a cell's whole error. No "
            "gain is claimed at numbers of cells that occur."
        )

    @property
    def at_trillion(self) -> tuple[float, float]:
        """At 10^12 cells, over ``ln(d)/epsilon``: freezing's threshold, asymmetric noise's C."""
        L = math.log(1e12)
        case = Freezing(self.epsilon, L, cell_share(SIGNED), _ETA, _ETA * L, few=True)
        rates = best_rates(1.0, 1e12, math.sqrt(SIGNED))
        sure = float(certify(1.0, 1e12, rates.right, rates.left).C)
        return case.threshold * self.epsilon / L, sure / L

    @functools.cached_property
    def losses(self) -> tuple[int, float]:
        """How many settings were audited, and the largest loss over its allowance."""
        worst, count = 0.0, 0
        for L in (100.0, 1000.0, 1e4):
            for sigma in (0.3, 0.5, cell_share(SIGNED)):
                for kappa in (_ETA, 0.3, 0.49, 0.6, 1.0):
                    case = Freezing(self.epsilon, L, sigma, _ETA, kappa * L, few=kappa == _ETA)
                    worst = max(worst, case.largest_loss(801) / case.e)
                    count += 1
        return count, worst

    @property
    def audit_said(self) -> str:
        """What the numerical check of privacy found."""
        count, worst = self.losses
        verdict = "exactly what is allowed"
        if worst < 1 - 1e-9:
            verdict = f"{format_number(worst)} of what is allowed"
        if worst > 1 + 1e-9:
            verdict = f"{format_number(worst)} times what is allowed: a step fails here"
        return (
            f"Each inequality of the proof of privacy was checked on a grid of sums, for {count} "
            "choices of $d$, $\\sigma$ and the number of cells in use, at every kind of step from "
            f"$q$ to $q + 1$ records: the largest change of the log density is {verdict}."
        )


def asymptotics(epsilon: float = 0.5, log_d: float = 1000.0) -> Asymptotics:
    """Return the limits, and the mechanism at ``ln d``.

    Examples
    --------
    >>> asymptotics().losses[1] <= 1 + 1e-9
    True
    """
    return Asymptotics(epsilon, log_d)
