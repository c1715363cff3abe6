"""Numbers and curves of the lesson's slides, for one class and one level of privacy."""

import math
from functools import cached_property

import numpy as np

from ..base.numbers import at_least, at_most, format_number, percentage
from ..model.measurement import measure
from ..model.noise import Laplace
from ..model.privacy import PureDP
from ..model.workload import Workload
from ..theory.difficult import difficult_table
from ..theory.given import check_queries
from ..theory.lower.lower_bounds import point_error_bound, sum_error_bound
from ..theory.upper.exact_errors import clipped, clipped_sum
from ..theory.upper.extremes import extremes
from ..theory.upper.operating_points import clipping, fitted
from ..theory.upper.projection import threshold
from .dice import Activity
from .difficult_table import Findings as DifficultTable

STREETS = 20  # more would not be told apart from the last row
TENS = np.unique(np.round(np.geomspace(10, 1e6, 31)))


def largest_upwards(noise, d):
    """Return the mean of the largest of d Laplace noises, or of 0 if none is positive.

    The largest absolute noise has the mean b H_d; half of the noises are negative and do not count:
    b sum_k (1 - 2^-k) / k for k from 1 to d.
    """
    k = np.arange(1, 1075)  # beyond it 2^-k is 0 in floating point
    lost = np.cumsum(0.5**k / k)[np.minimum(d, k.size).astype(int) - 1]
    return np.asarray(extremes(noise, d).mean) - noise.scale * lost


def demand(ratio, digits=3):
    """Write what a bound demands of an error, over that of a signed answer."""
    return f"{at_least(ratio, digits)} signed errors or more" if ratio > 0 else "nothing"


class Lesson:
    def __init__(self, epsilon=0.5, d=1000, students=24, seed=4):
        self.pure, self.d, self.seed = PureDP(epsilon), d, seed
        check_queries(d)
        self.epsilon, self.activity = epsilon, Activity(students)
        self.whole = Laplace(1 / epsilon)  # all of the budget on the cells: clip
        self.half = Laplace(2 / epsilon)  # cells and sum together: signed answers, keep the sum
        self.signed = self.pure.signed_error

    # Clip: the whole budget on the cells.

    @property
    def one_bias(self):
        return float(clipped(self.whole, 0.0).bias)

    @property
    def all_biases(self):
        return self.d * self.one_bias

    @cached_property
    def growth(self):
        """Numbers of empty cells; the root errors of the clipped sum and of a signed one."""
        sums = [math.sqrt(clipped_sum(self.whole, [0.0], [n])) for n in TENS]
        return TENS, np.array(sums), np.full(TENS.size, self.half.std)

    # Keep the sum.

    @property
    def held(self):
        return float(difficult_table(self.d, self.epsilon).max())

    @cached_property
    def mean_level(self):
        """What is taken off every noisy cell on average, as chapter 1 has it."""
        return DifficultTable(self.epsilon, self.d).level

    @cached_property
    def draw(self):
        """One draw of a small table: noisy cells, and the level that keeps its noisy sum."""
        table = difficult_table(STREETS, self.epsilon)
        rng = np.random.default_rng(self.seed)
        noisy = measure(table, Workload.table(STREETS), self.pure, runs=1, rng=rng)
        cells = noisy.answers[1]
        level = threshold(cells, np.maximum(noisy.answers[0][:, 0], 0.0))
        return cells[0], float(level[0])

    @property
    def kept(self):
        return int((self.draw[0] > self.draw[1]).sum())

    @cached_property
    def largest(self):
        """Numbers of cells, the largest noise upwards on average, the full cell's records."""
        held = [float(difficult_table(int(n), self.epsilon).max()) for n in TENS]
        return TENS, largest_upwards(self.half, TENS), np.array(held)

    @property
    def largest_here(self):
        return float(largest_upwards(self.half, np.array([float(self.d)]))[0])

    # The lower bound, by first moments: C >= m - exp(epsilon m) D / d.

    @cached_property
    def promised(self):
        """Numbers m of people, and what the proof demands of C where the sum is a signed one."""
        m = np.arange(0, max(4, math.ceil(math.log(self.d) / self.epsilon * 1.25)) + 1)
        with np.errstate(over="ignore"):
            return m, m - np.exp(self.epsilon * m) * self.signed / self.d

    @property
    def best_m(self):
        m, demanded = self.promised
        return max(1, int(m[np.argmax(demanded)]))  # the theorem has no m = 0

    @property
    def most_there(self):
        """The most that cell i can hold on average once m people are in it."""
        return math.exp(self.epsilon * self.best_m) * self.signed / self.d

    @property
    def demanded(self):
        return float(point_error_bound("first_moment", self.pure, self.d, self.signed))

    # The plane, in signed errors.

    @cached_property
    def marks(self):
        """Sum's and cell's error of clipping and of keeping the sum."""
        places = clipping(self.pure, self.d), fitted(self.pure, self.d)[0]
        return [(float(p.D[0]) / self.signed, float(p.C[0]) / self.signed) for p in places]

    @cached_property
    def sum_errors(self):
        (right, _), _ = self.marks
        return np.geomspace(0.4 * min(1.0, right), max(4.0, right) * 1.8, 160)

    @cached_property
    def edge(self):
        D = self.signed * self.sum_errors
        return point_error_bound("first_moment", self.pure, self.d, D) / self.signed

    @property
    def must(self):
        return self.demanded / self.signed

    @property
    def must_sum(self):
        C = self.signed * self.marks[0][1]
        return float(sum_error_bound("first_moment", self.pure, self.d, C)) / self.signed

    @cached_property
    def densities(self):
        """Published counts, and the densities of a lone count of 3 and of 4 with its noise."""
        b = 1 / self.epsilon
        x = np.union1d(np.linspace(3 - 4 * b, 4 + 4 * b, 601), [3.0, 4.0])
        return x, *(np.exp(-np.abs(x - q) / b) / (2 * b) for q in (3, 4))

    @cached_property
    def values(self):
        """Numbers that slides, quiz and handout quote, written out, by name."""
        a, n = self.activity, format_number
        return {
            "epsilon": n(self.epsilon),
            "d": n(self.d),
            "odds": at_most(odds := math.exp(self.epsilon)),
            "odds_percent": at_most(min(odds, 100 - 99 / odds)),
            "scale": n(self.whole.scale),
            "signed": n(self.signed),
            "one_bias": n(self.one_bias),
            "all_biases": n(self.all_biases, 2),
            "students": n(a.students),
            "one_roll": n(a.one_mean, 2),
            "zero_rolls": percentage(a.zero_percent),
            "rolls_signed": n(a.signed_std, 2),
            "rolls_clipped": n(a.clipped_mean, 2),
            "rolls_signed_two": n(a.signed_std * math.sqrt(2), 2),
            "rolls_clipped_two": n(2 * a.clipped_mean, 2),
            "break_even": n(a.break_even),
            "farther": percentage(a.farther_percent[0]),
            "farther_two": percentage(a.farther_percent[1]),
            "mean_level": str(self.mean_level),
            "held": n(self.held),
            "moved": n(self.best_m),
            "most_there": at_most(self.most_there, 2),
            "must": demand(self.must),
            "must_sum": demand(self.must_sum, 2),
            "clip_sum": n(self.marks[0][0]),
            "clip_error": n(self.marks[0][0] * self.signed),
            "keep_cell": n(self.marks[1][1]),
        }
