"""How this was checked: what commands in benchmarks/ wrote down, the grid's fits, the audits."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from ..base.data import data_path
from ..grid.spec import GridSpec
from ..theory.laws.audit import audits
from .grids import RUNS_ALONE, grid_part

# Checks, with what is tried, what passing means, and the command that repeats it.
CHECKS = {
    "mutants": ("changes of one place in", "noticed by the tests", "make mutants ROOM=..."),
    "inputs": ("damaged", "answered rightly or refused", "python -m benchmarks.fuzz"),
    "kills": ("killed", "went on, with nothing lost or half-written", "python -m benchmarks.kills"),
    "numbers": ("numbers of", "computed again by other code", "python -m benchmarks.recomputed"),
}
PRINTED = "as printed"
SMALLER = "a smaller B"


@dataclass
class Findings:
    """What was tried and what passed."""

    grid_dir: str = ""
    epsilon: float = 0.5
    rho: float = 0.125
    delta: float = 1e-6

    @cached_property
    def errors(self):
        spec = GridSpec.choose(epsilon=[self.epsilon], rho=[self.rho], runs=RUNS_ALONE)
        return grid_part(self.grid_dir, spec).errors

    @cached_property
    def fits(self):
        by_fit = ["dataset", "privacy", "level", "method"]
        return int(self.errors.groupby(by_fit)["runs"].first().sum())

    @property
    def failed(self):
        return int(self.errors["failures"].sum())

    @property
    def worst_certificate(self):
        return float(self.errors["worst_certificate"].max())

    @cached_property
    def audits(self):
        """Exact audits of mechanisms that claim to be private, without the misprinted ones."""
        made = audits(self.epsilon, self.rho, self.delta)
        return [a for a in made if PRINTED not in a.mechanism and SMALLER not in a.mechanism]

    @property
    def held(self):
        return sum(a.holds for a in self.audits)

    @cached_property
    def written(self):
        return pd.read_csv(data_path("checks.csv"))

    def count(self, check, column):
        return int(self.written.loc[self.written["check"] == check, column].sum())

    @property
    def table(self):
        rows = [("fits of the grid", "certified", self.fits, self.fits - self.failed, "make grid")]
        for check, (what, passing, command) in CHECKS.items():
            own = self.written[self.written["check"] == check]
            parts = zip(own["part"], own["tried"], own["passed"], strict=True)
            rows += [(f"{what} {part}", passing, int(n), int(k), command) for part, n, k in parts]
        names = ["tried", "passes if", "number", "passed", "command"]
        table = pd.DataFrame(rows, columns=names)
        commands = "`" + table["command"] + "`"  # each at its first row alone
        return table.assign(command=commands.mask(commands.duplicated(), ""))
