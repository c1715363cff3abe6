from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sentences import EPSILONS, RHOS, check_texts, numbers, says, texts

from microdata_price.exceptions import InputError
from microdata_price.figures.experiments_benchmark import square
from microdata_price.model.benchmark import data_sets
from microdata_price.studies.benchmark import study


@pytest.mark.parametrize(("epsilon", "rho"), list(zip(EPSILONS, RHOS, strict=True)))
def test_every_sentence_is_whole_and_true_of_the_tables(epsilon: float, rho: float) -> None:
    found = study([epsilon], [rho])
    check_texts(texts(found).values())
    shares = [float((d.table == 0).mean()) for d in data_sets("pums")]
    lists = [float((d.table == 0).mean()) for d in data_sets("1d")]
    assert says(found.opening, 100 * min(shares), rel=0.06)
    assert says(found.opening, 100 * max(shares), rel=0.06)
    assert says(found.opening, sum(s < min(shares) for s in lists))
    # The largest of 100 noises, by the laws of SciPy: two answers share the budget of a list.
    at = [
        100 * stats.laplace.cdf(16, scale=2 / epsilon) ** 100,
        100 * stats.norm.cdf(16, scale=np.sqrt(1 / rho)) ** 100,
    ]
    assert found.percentiles["size 16"].tolist() == pytest.approx(at, rel=1e-9, abs=1e-12)
    assert ("drowns" in found.hidden_said) == (min(at) <= 50)
    assert ("more often below" in found.hidden_said) == (max(at) > 50)
    assert numbers(found.claim_said)[0] == pytest.approx(
        100 * stats.laplace.cdf(16, scale=4) ** 100, rel=6e-3
    )


@pytest.mark.parametrize("name", [d.name for d in data_sets("pums")])
def test_any_real_table_can_be_drawn_large(name: str) -> None:
    said = study(shown=name).shown_picture
    check_texts([said.text, said.alt])
    assert name in said.text


def test_another_table_is_refused() -> None:
    with pytest.raises(InputError, match="no real table 'Stair-1d'"):
        study(shown="Stair-1d")


@pytest.mark.parametrize("name", [d.name for d in data_sets("2d")])
def test_any_square_table_can_be_drawn_large(name: str) -> None:
    found = study(square=name)
    table = found.tables("2d")[name]
    said = found.square_picture
    check_texts([said.text, said.alt])
    assert says(said.text, np.count_nonzero(table == 0))
    assert says(said.text, sum(int(count) for count in table.ravel()))
    (ax, *_) = square(name, table).axes
    counts = {t.get_text() for t in ax.texts}
    assert {f"{n:.0f}" for n in table.ravel() if n < 10_000} <= counts


def test_another_square_is_refused() -> None:
    with pytest.raises(InputError, match="no square table 'Stair-1d'"):
        study(square="Stair-1d")
