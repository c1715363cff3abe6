"""Five methods on one table: errors, where the records go, and who pays."""

from functools import cached_property

import numpy as np
import pandas as pd

from ..base.numbers import Mean
from ..errors.sums import answer_errors
from ..model.benchmark import data_set
from .cases import LABELS, Methods, percent, written


class Findings(Methods):
    @cached_property
    def data(self):
        return data_set(self.dataset)

    @property
    def shape(self):
        return " × ".join(str(n) for n in self.case.table.shape)

    @property
    def asked(self):
        return ", ".join(LABELS[name] for name in self.case.workload.names)

    @property
    def negative(self):
        """Share of the noisy cells below 0, on average and exactly, in per cent."""
        return 100 * float(np.exp(self.noise.log_cdf(-self.case.truth)).mean())

    @property
    def records(self):
        return float(self.case.truth.sum())

    @property
    def sets(self):
        return list(self.case.workload.names)

    @property
    def ratios(self):
        """By query set and method of microdata: name, squared error over OLS's."""
        return [(LABELS[q], m, self.ratio(m, q)) for q in self.sets for m in self.micro]

    @property
    def of_cells(self):
        """The methods of microdata by the cells' error, the best first."""
        return sorted(self.micro, key=lambda m: self.ratio(m, "identity").value)

    @property
    def mapped(self):
        """The true table and those of the first run, with their titles."""
        made = [(self.label(m), f.tables[0]) for m, f in self.fits.items()]
        return [("true", self.case.table), *made]

    @property
    def axes(self):
        return ("race", "Hispanic origin") if self.data.family == "pums" else ("", "")

    @cached_property
    def positive(self):
        """Cells above 0 in the first run, in truth and by method."""
        of_methods = {m: int((x[0] > 0).sum()) for m, x in self.cells.items()}
        return {"true": int(self.full.sum()), **of_methods}

    @property
    def misses(self):
        """For each method the fitted sum minus the true one, shape (runs,)."""
        return [(m, x.sum(axis=1) - self.records) for m, x in self.cells.items()]

    @property
    def sum_table(self):
        own = self.errors.xs("sum", level="query set")
        return pd.DataFrame({
            "method": [self.label(m) for m in own.index],
            "squared error": [written(e.value, e.error) for e in own["error"]],
            "exactly": list(own["exact"]),
            "over OLS": [self.over_ols(m) for m in own.index],
            "mean error": [str(b) for b in own["bias"]],
        })  # fmt: skip

    @cached_property
    def moved(self):
        """By method: mean records that empty cells gain, that others gain, that the sum gains."""
        found = {}
        for m, x in self.cells.items():
            error = x - self.case.truth
            parts = (error[:, self.empty], error[:, self.full], error)
            found[m] = [Mean.of(p.sum(axis=1)) for p in parts]
        return found

    @property
    def who_pays(self):
        columns = ("empty cells gain", "other cells gain", "the sum gains")
        rows = [[self.label(m), *map(str, p)] for m, p in self.moved.items()]
        return pd.DataFrame(rows, columns=["method", *columns])

    @staticmethod
    def gains(mean, ending="s"):
        """Say what is gained on average, or lost, as the sign has it."""
        verb, size = ("lose", mean.times(-1)) if mean.value < 0 else ("gain", mean)
        return f"{verb}{ending} {size}"

    @property
    def max_over_nnls(self):
        """Largest change of a query set's squared error from NNLS to max fitting, in per cent."""
        squares = [
            [(e * e).sum(axis=1) for e in answer_errors(x, self.case.table, self.case.workload)]
            for x in (self.cells["nnls"], self.cells["maxfit"])
        ]
        changes = [Mean.of(b - a).times(100 / a.mean()) for a, b in zip(*squares, strict=True)]
        return max(changes, key=lambda change: abs(change.value))

    def hit(self, method):
        """True count, mean error and share of zeros of the cell with the largest error."""
        return self.worst(method).iloc[0]

    @property
    def hits(self):
        """The cell with the largest squared error under each method."""
        return pd.DataFrame({
            "method": self.label(m), "true count": w["truth"], "mean error": str(w["bias"]),
            "squared error": str(w["error"]), "comes out as 0": percent(w["zero"]),
        } for m, w in ((m, self.hit(m)) for m in self.cells))  # fmt: skip
