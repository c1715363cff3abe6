"""Workloads that do not fit in memory are refused before they begin."""

import pytest

from microdata_price.exceptions import InputError
from microdata_price.model.queryset import QuerySet
from microdata_price.optimize.memory import check_memory, memory_needed


def table(side):
    return [QuerySet.marginal((side, side), k) for k in ((), (0,), (1,), (0, 1))]


def test_a_workload_too_large_is_refused_with_its_cells_and_the_estimate():
    needed = memory_needed(table(100), 1000)
    with pytest.raises(InputError, match=r"10,000 cells in 1,000 runs .* about \d\.\d GB"):
        check_memory(table(100), 1000, most=needed / 2)
    check_memory(table(100), 1000, most=2 * needed)


def test_the_estimate_grows_with_cells_runs_and_sets():
    few = memory_needed(table(300), 10)
    assert memory_needed(table(600), 10) > 3 * few
    assert memory_needed(table(300), 40) > 2 * few
    assert memory_needed(table(300)[2:], 10) < few
