from __future__ import annotations

import math

import numpy as np
import pytest
from sentences import check_texts, numbers, says, texts

from microdata_price.studies.dice import study

ROLLS = [r - w for r in range(1, 7) for w in range(1, 7)]


@pytest.mark.parametrize("students", [1, 2, 5, 24, 100, 1000])
def test_every_sentence_is_whole_and_follows_from_the_36_rolls(students: int) -> None:
    found = study(students)
    check_texts([t for k, t in texts(found).items() if "_" not in k or k.endswith("caption")])
    signed = math.sqrt(students * float(np.mean(np.square(ROLLS))))
    clipped = students * float(np.mean(np.maximum(ROLLS, 0)))
    assert says(found.opening, clipped)
    assert says(found.opening, signed, rel=0.06)
    assert says(found.expected, 100 * float(np.mean(np.array(ROLLS) <= 0)), rel=0.06)
    assert says(found.expected, float(np.mean(np.maximum(ROLLS, 0))))
    assert says(found.picture.text, clipped)
    # From this class on the clipped sum has the larger squared error, and not before.
    mean, square = float(np.mean(np.maximum(ROLLS, 0))), float(np.mean(np.square(ROLLS)))
    spread = float(np.var(np.maximum(ROLLS, 0)))
    first = next(n for n in range(1, 100) if n * spread + (n * mean) ** 2 > n * square)
    assert numbers(found.break_even)[0] == first
    ratio = square / float(np.mean(np.square(np.maximum(ROLLS, 0))))
    assert numbers(found.break_even)[1] <= ratio + 1e-9
    assert np.isclose(found.levelled.sum(), numbers(found.example_caption)[2], atol=5e-3)
    assert found.answers.shape == (11, 5)


def test_the_chance_of_being_far_off_is_that_of_all_rolls_of_two() -> None:
    sums = [max(a, 0) + max(b, 0) for a in ROLLS for b in ROLLS]
    far = np.mean(np.array(sums) > 2 * math.sqrt(2 * np.mean(np.square(ROLLS))))
    assert says(study(2).expected, 100 * float(far))
