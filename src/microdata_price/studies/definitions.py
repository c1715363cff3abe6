"""What privacy and accuracy mean: distances between the outputs at two neighbouring counts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import Mean, at_least, at_most, format_number, runs_within
from ..model.noise import Laplace
from ..model.noise_discrete import DoubleGeometric
from ..model.privacy import ConcentratedDP, PureDP
from ..page.output import Caption
from ..theory.laws import divergences, outputs, pairs
from ..theory.upper.extremes import extremes

Array = NDArray[np.float64]

_EXAMPLE = (3, 0, 1)


@dataclass(frozen=True, eq=False)
class Findings:
    """One noisy count under three guarantees (the paper's Section 2).

    Parameters
    ----------
    epsilon, rho, delta
        The guarantees.
    count
        The true count; its neighbour has one record more.
    laplace, gaussian
        The densities of the output at both, with Laplace and with Gaussian noise.
    orders
        Rényi divergences against their order.
    at_delta
        The epsilons that go with delta under zCDP.
    """

    epsilon: float
    rho: float
    delta: float
    count: float
    laplace: pairs.OutputPair
    gaussian: pairs.OutputPair
    orders: pairs.OrderCurves
    at_delta: pairs.Conversions

    @property
    def reach(self) -> float:
        """The largest loss of the Gaussian mechanism within the picture."""
        return float(np.abs(self.gaussian.loss).max())

    @property
    def opening(self) -> str:
        """What was found."""
        simple, best, exact = self._conversions
        return (
            "Differential privacy is a distance between two output distributions. At $\\epsilon = "
            f"{format_number(self.epsilon)}$ no output of the Laplace mechanism is more than "
            f"{at_most(math.exp(self.epsilon))} times as likely with one person's record as "
            "without it. Zero-concentrated privacy bounds the same distance on average. At "
            f"$\\delta =$ {format_number(self.delta)}, $\\rho = {format_number(self.rho)}$ implies "
            f"$\\epsilon' = {best}$ (the simple formula says {simple}), and no formula can promise "
            f"less than {exact}."
        )

    @property
    def losses(self) -> Caption:
        """What is said about the picture of losses."""
        return Caption(
            "The output at a count and at its neighbour, and the logarithm of the ratio of the two "
            "densities, the *privacy loss*. Laplace noise (left) keeps it within $\\pm\\epsilon = "
            f"\\pm{format_number(self.epsilon)}$ everywhere; with Gaussian noise (right) it is a "
            "straight line that leaves every bound, and reaches "
            f"{format_number(self.reach, 2)} within the picture.",
            alt="Two columns. Above, two shifted densities each: pointed Laplace curves on the "
            "left, bell curves on the right. Below, the logarithm of their ratio: on the left it "
            "runs along plus epsilon, drops between the two counts, and runs along minus epsilon; "
            "on the right it is a falling straight line.",
        )

    @property
    def losses_said(self) -> str:
        """Where the loss is largest."""
        than = "which is still less than $\\epsilon$ here"
        if self.reach > self.epsilon:
            than = "which is already more than $\\epsilon$"
        between = -math.expm1(-self.epsilon) / 2
        return (
            "The Laplace ratio is largest not at one place but *at every output that is not "
            "between the two counts*: at all of them the whole budget is spent. An output between "
            f"the counts comes with a chance of {format_number(between, 2)}. The Gaussian's loss "
            f"reaches {format_number(self.reach, 2)} "
            f"within the picture, {than}, and it grows without end: Gaussian noise is not "
            "$\\epsilon$-DP for any $\\epsilon$."
        )

    @property
    def neighbours(self) -> pd.DataFrame:
        """All neighbours of a table of three cells."""
        example, rows = np.array(_EXAMPLE), []
        for table in outputs.neighbours(example):
            word = "more" if table.sum() > example.sum() else "less"
            cell = int(np.flatnonzero(table != example)[0]) + 1
            rows.append(
                {
                    "neighbour": str(tuple(int(v) for v in table)),
                    "what happened": f"one record {word} in cell {cell}",
                    "total": int(table.sum()),
                }
            )
        return pd.DataFrame(rows)

    @property
    def neighbours_caption(self) -> str:
        """What is said about the table of neighbours."""
        return "All neighbours of the table (3, 0, 1). The empty cell has no record to remove."

    @property
    def events(self) -> pd.DataFrame:
        """Definition 2 for the events that the answer is at least t."""
        one = pairs.tail_events(PureDP(self.epsilon), self.count)
        two = pairs.tail_events(ConcentratedDP(self.rho), self.count)
        factor = math.exp(self.epsilon)
        slack = [factor * e.first - e.second for e in one]
        return pd.DataFrame(
            {
                "t, in standard deviations above the neighbour": [-2, 0, 1, 4, 8],
                "P at the count": [e.first for e in one],
                "P at the neighbour": [e.second for e in one],
                "slack: $e^\\epsilon$ P − P′": [
                    s * (s > 1e-12 * e.second) for s, e in zip(slack, one, strict=True)
                ],
                "ratio, Laplace": [e.second / e.first for e in one],
                "ratio, Gaussian": [e.second / e.first for e in two],
            }
        )

    @property
    def events_caption(self) -> str:
        """What is said about the table of events."""
        return (
            "Definition 2 for the events that the answer is at least t: probabilities and slack "
            "for Laplace noise, and the ratio of the probabilities for Laplace and for Gaussian "
            "noise."
        )

    @property
    def _at_two(self) -> int:
        return int(np.argmin(np.abs(self.orders.orders - 2)))

    @property
    def order_values(self) -> tuple[float, float, float, float]:
        """Near order 2: the order, Laplace noise, randomised response, the line."""
        c, k = self.orders, self._at_two
        return float(c.orders[k]), float(c.laplace[k]), float(c.worst[k]), float(c.line[k])

    @property
    def orders_picture(self) -> Caption:
        """What is said about the picture of divergences."""
        order, laplace, _, line = self.order_values
        below = "."
        if laplace < line:
            share = format_number(100 * laplace / line, 2)
            below = f", at order {format_number(order)} at {share} % of the line."
        return Caption(
            f"Rényi divergences at $\\epsilon = {format_number(self.epsilon)}$. Randomised "
            "response is the worst of all $\\epsilon$-DP mechanisms; the line "
            "$\\alpha\\epsilon^2/2$ lies above it at every order, as the lemma says. Laplace noise "
            "stays below both"
            f"{below}",
            alt="Divergence against order. A straight dotted line through the origin rises without "
            "end; two curves start with a smaller or equal slope, bend, and approach a horizontal "
            "dashed line at epsilon from below. Laplace lies below randomised response.",
        )

    @property
    def orders_table(self) -> pd.DataFrame:
        """The lemma's two inequalities at four orders."""
        c, k = self.orders, self._at_two
        rows = [0, k, (k + 200) // 2, 200]
        return pd.DataFrame(
            {
                "order $\\alpha$": c.orders[rows],
                "Laplace": c.laplace[rows],
                "randomised response": c.worst[rows],
                "line $\\alpha\\epsilon^2/2$": c.line[rows],
                "slack": (c.line - c.worst)[rows],
            }
        )

    @property
    def orders_caption(self) -> str:
        """What is said about the table of orders."""
        return (
            "The two inequalities of the lemma, both sides, in nats; the slack is that of the "
            "second."
        )

    @property
    def orders_said(self) -> str:
        """The three values near order 2."""
        order, laplace, worst, line = (format_number(v) for v in self.order_values)
        return f"At order {order} the three values are {laplace}, {worst} and {line}."

    @property
    def conversions(self) -> tuple[float, float, float]:
        """The epsilons at delta: simple, sharper, exact."""
        c = self.at_delta
        return float(c.simple[0]), float(c.best[0]), float(c.exact[0])

    @property
    def _conversions(self) -> tuple[str, str, str]:
        """The same in words: the first two are enough, and less than the third is not."""
        simple, best, exact = self.conversions
        return at_most(simple), at_most(best), at_least(exact)

    @property
    def conversion_curve(self) -> pairs.Conversions:
        """The epsilons that go with every delta."""
        exponents = np.linspace(math.log10(self.delta) - 3, math.log10(0.3), 61)
        return pairs.conversions(self.rho, 10**exponents)

    @property
    def conversion(self) -> Caption:
        """What is said about the picture of conversions."""
        simple, best, exact = self._conversions
        return Caption(
            f"What $\\rho = {format_number(self.rho)}$ means in terms of $\\epsilon$ and "
            f"$\\delta$. At $\\delta =$ {format_number(self.delta)} the simple formula says "
            f"$\\epsilon' = {simple}$, the sharper one {best}, and Gaussian noise itself needs "
            f"{exact}.",
            alt="Epsilon against delta on a logarithmic axis, smaller deltas to the right. Three "
            "rising curves, close together: the simple conversion on top, the sharper one below "
            "it, the exact curve of the Gaussian mechanism lowest. A vertical line marks the "
            "chosen delta.",
        )

    @property
    def conversion_said(self) -> str:
        """The three epsilons at delta."""
        simple, best, exact = self._conversions
        return (
            f"At this $\\delta$ the simple formula gives $\\epsilon' =$ {simple}, the sharper one, "
            f"at its best $\\alpha$, {best}; no conversion can go below {exact}, because the "
            "Gaussian mechanism is $\\rho$-zCDP and needs that much."
        )

    @property
    def composition(self) -> pd.DataFrame:
        """Randomised response asked once, twice, three times."""
        rows = []
        yes, no = (outputs.randomised_response(self.epsilon, t) for t in (True, False))
        for k in (1, 2, 3):
            p, q = outputs.independent(yes, k), outputs.independent(no, k)
            rows.append(
                {
                    "answers": k,
                    "largest loss": divergences.max_divergence(p, q),
                    "bound $k\\epsilon$": k * self.epsilon,
                    "divergence $D_2$": divergences.renyi_divergence(p, q, 2),
                    "bound $2 k\\epsilon^2/2$": k * self.epsilon**2,
                }
            )
        return pd.DataFrame(rows)

    @property
    def composition_caption(self) -> str:
        """What is said about the table of composition."""
        return (
            "Composition of randomised response with itself: the largest loss against its bound, "
            "and the divergence of order 2 against its bound, in nats."
        )

    def laws(self) -> tuple[NDArray[np.intp], list[Array]]:
        """Return the values of a noisy count and its law at the count and at the neighbour."""
        width = math.ceil(12 / self.epsilon) + 2
        count = int(self.count)
        low, high = count - width, count + 1 + width
        noise = DoubleGeometric(self.epsilon)
        made = [outputs.clipped_law(noise, c, low, high) for c in (count, count + 1)]
        return np.arange(low, high + 1, dtype=np.intp), made

    @property
    def postprocessing(self) -> pd.DataFrame:
        """Three distances before and after postprocessing."""
        values, (first, second) = self.laws()
        maps = {
            "as it is": values,
            "clipped at zero": np.maximum(values, 0),
            "rounded to tens": np.round(values / 10),
            "above the count or not": values > self.count,
            "always the same answer": 0 * values,
        }
        rows = []
        for name, image in maps.items():
            p, q = outputs.postprocess(first, image), outputs.postprocess(second, image)
            found = (
                divergences.max_divergence(p, q),
                divergences.renyi_divergence(p, q, 2),
                divergences.least_delta(p, q, self.epsilon / 2),
            )
            rows.append((name, *(v * (v >= 1e-12) for v in found)))
        columns = ["largest loss", "divergence $D_2$", "least $\\delta$ at $\\epsilon/2$"]
        return pd.DataFrame(rows, columns=["postprocessing", *columns])

    @property
    def postprocessing_caption(self) -> str:
        """What is said about the table of postprocessing."""
        return (
            "Three distances between the output distributions of neighbours before and after "
            "postprocessing. No number is larger than the one on top of its column."
        )

    @property
    def postprocessing_said(self) -> str:
        """What postprocessing leaves of the largest loss."""
        loss = self.postprocessing["largest loss"].to_numpy()
        kept = "The largest loss falls only where no output is left that gives the neighbour away."
        if (loss[1:4] > (1 - 1e-9) * loss[0]).all():
            kept = (
                "All three keep the whole largest loss: a single output that gives the neighbour "
                "away is enough for that."
            )
        return (
            f"{kept} Clipping at zero costs nothing in privacy and, as the next chapters show, a "
            "great deal in accuracy."
        )

    @property
    def clerk_epsilon(self) -> float:
        """The pure level of a clerk who tells the truth one time in a hundred."""
        values, laws = self.laws()
        mixed = [0.99 * law for law in laws]
        for shift, law in enumerate(mixed):
            law[np.flatnonzero(values == self.count + shift)[0]] += 0.01
        return float(divergences.max_divergence(*mixed))

    @property
    def clerk_said(self) -> str:
        """At which larger level the clerk is pure."""
        return f"Here that larger $\\epsilon$ is {format_number(self.clerk_epsilon)}."


SHOWN = 200
"""The most queries whose errors are drawn."""


@dataclass(frozen=True, eq=False)
class Profiles:
    """Two mechanisms with the same simultaneous error (the paper's Equation 1).

    Parameters
    ----------
    noise
        Of every answer of the first.
    sampled
        Its errors, estimated.
    runs
        From how many runs.
    """

    noise: Laplace
    sampled: outputs.ErrorProfile
    runs: int

    @property
    def d(self) -> int:
        """How many queries."""
        return self.sampled.per_query.size

    @property
    def exact(self) -> tuple[float, float]:
        """The exact per-query and simultaneous error."""
        return self.noise.variance, float(extremes(self.noise, self.d).square)

    @property
    def one_bad(self) -> Array:
        """The errors of a mechanism that always errs on the first query alone."""
        errors = np.zeros(self.d)
        errors[0] = self.exact[1]
        return errors

    @property
    def _shown(self) -> str:
        return "" if self.d <= SHOWN else f", for the first {SHOWN} of {self.d:,} queries"

    @property
    def picture(self) -> Caption:
        """What is said about the picture of both."""
        per_query, simultaneous = (format_number(v) for v in self.exact)
        return Caption(
            f"Two mechanisms with the same simultaneous error, {simultaneous} (dashed). The worst "
            f"query's expected squared error is {per_query} on the left (dotted; bars are "
            f"estimates from {format_number(self.runs)} runs{self._shown}) and {simultaneous} on "
            "the right. Only the left side of Equation 1 tells them apart.",
            alt="Two bar charts of squared error by query under a common dashed line. On the left "
            "all bars are of about equal height, far below the line; on the right a single bar "
            "reaches the line and all others are zero.",
        )

    @property
    def said(self) -> str:
        """What the two criteria say of the first mechanism."""
        per_query, simultaneous = self.exact
        worst = int(self.sampled.per_query.argmax())
        tallest = Mean(
            float(self.sampled.per_query[worst]), float(self.sampled.per_query_se[worst])
        )
        over = f", the largest of {self.d:,} such estimates and so biased upwards"
        both = Mean(self.sampled.simultaneous, self.sampled.simultaneous_se)
        return (
            f"On the left every query has an expected squared error of {format_number(per_query)} "
            f"exactly (the tallest bar is an estimate, {tallest}"
            f"{over if self.d > 1 else ''}). The expected largest is "
            f"{format_number(simultaneous)} (sampled: {both}), "
            f"{format_number(simultaneous / per_query, 2)} times as much, and the sum on the right "
            f"of Equation 1 is {format_number(self.d * per_query)}."
        )


def study(epsilon: float, rho: float, delta: float, count: float) -> Findings:
    """Return the distances between the outputs at a count and at its neighbour.

    Examples
    --------
    >>> round(study(0.5, 0.125, 1e-6, 10).conversions[0], 3)
    2.753
    """
    return Findings(
        epsilon,
        rho,
        delta,
        count,
        pairs.output_pair(PureDP(epsilon), count),
        pairs.output_pair(ConcentratedDP(rho), count),
        pairs.order_curves(epsilon),
        pairs.conversions(rho, np.array([delta])),
    )


def profiles(epsilon: float, d: int, runs: int, seed: int) -> Profiles:
    """Return the errors of d answers with independent Laplace noise; fewer runs for very many.

    Examples
    --------
    >>> profiles(0.5, 20, 100, seed=1).exact[0]
    8.0
    """
    runs, noise = runs_within(runs, d, most=20_000_000), Laplace(1 / epsilon)
    return Profiles(
        noise, outputs.sampled_errors(noise, d, runs, np.random.default_rng(seed)), runs
    )
