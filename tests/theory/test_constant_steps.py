"""Steps of the book's proof of the leading constant (appendix C), run by run."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.theory.upper.projection import project, threshold
from microdata_price.theory.upper.reports import Reports


@given(st.integers(0, 10**6), st.sampled_from([0.06, 0.3, 0.6]), st.floats(0, 6))
def test_cells_err_by_no_more_than_the_proof_says(seed, kappa, h):
    """The bounds for a rest of either sign hold run by run, however likely alarms are."""
    rng = np.random.default_rng(seed)
    case, d = Reports(2.0, 18.0, 1.2, 0.06, kappa * 18.0), 60
    used = rng.random(d) < rng.choice([0.05, 0.4])
    q = np.where(used, rng.integers(0, int(2 * case.threshold) + 2, d), 0) * 1.0
    z, chance, small = case.cell.sample(rng, d), rng.random(d), q < case.G
    alarm, rise = 0.1, 0.2 * (q > 0)  # the own chances are hardly ever drawn
    seen = np.where(small, chance < alarm + rise, q + z > case.threshold)
    beyond = case.threshold + rng.exponential(1 / case.cell.right, d)
    x0 = np.where(seen, np.maximum(np.where(small, beyond, q + z) - h, 0), 0.0)
    # The sum counts a frozen cell as G.
    value = np.where(small & seen & (chance >= alarm), float(case.G), q)
    A = float(value.sum() + case.main.sample(rng, 1)[0] - case.main.mean)
    big = q >= max(case.G, 1)
    z = np.where(big, z, 0.0)
    wrong = abs(A - q.sum())
    assert (np.abs(x0 - q)[seen & big] <= (np.abs(z) + h + 1e-9)[seen & big]).all()
    target, rest = max(A, 0.0), max(A, 0.0) - x0.sum()
    if rest >= 0:
        share = rest / d
        lost = np.where(seen, h + np.maximum(-z, 0), q)[q > 0].sum()
        assert A <= 0 or share <= (lost + wrong) / d + 1e-9
        x = x0 + share
        assert (np.abs(x - q)[~seen] <= np.maximum(q, share)[~seen] + 1e-9).all()
    else:
        g, x = float(threshold(x0, target)), project(x0, target)
        Z = float(np.maximum(z - h, 0).max(initial=0.0, where=big & seen))
        X = float(x0.max(initial=0.0, where=~big))
        assert g <= Z + X + wrong + 1e-6
    assert abs(x.sum() - q.sum()) <= wrong + 1e-6
