"""What a guarantee says of itself."""

import math

import pytest

from microdata_price.exceptions import InputError
from microdata_price.model import privacy
from microdata_price.model.privacy import KINDS, ApproximateDP, ConcentratedDP, PureDP, guarantee_of

LEVELS = {"epsilon": 0.5, "rho": 0.125, "delta": 1e-6}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_found_by_its_word_and_says_its_levels(kind):
    guarantee = guarantee_of(kind, **LEVELS)
    assert type(guarantee) is KINDS[kind]
    assert guarantee.kind == kind
    assert guarantee.fields() == {"kind": kind} | {n: LEVELS[n] for n in privacy.parameters(kind)}
    for name in privacy.parameters(kind):
        assert f"{name} = {LEVELS[name]:g}" in guarantee.describe()
        written = {"epsilon": "0.5", "rho": "0.125", "delta": "10^{-6}"}[name]
        assert rf"$\{name} = {written}$" in guarantee.describe(math=True)
    assert guarantee.plain.startswith(f"{guarantee.symbol} = {guarantee.level:g}")
    # A signed answer has half the budget, and sqrt(2) sensitivity for two query sets.
    assert guarantee.signed_error == pytest.approx(4 * math.sqrt(2) if kind != "zcdp" else 8**0.5)


def test_grids_name_levels_by_two_columns():
    assert privacy.level_of("pure", 0.5) == PureDP(0.5) == ApproximateDP(0.5, 1e-6).basis
    assert (
        privacy.level_of("zcdp", 0.125) == ConcentratedDP(0.125) == ConcentratedDP(0.125).to_zcdp()
    )
    for wrong in ("pur", "approximate"):
        with pytest.raises(InputError, match="no kind of privacy"):
            privacy.level_of(wrong, 0.5)
    with pytest.raises(InputError, match="did you mean pure"):
        guarantee_of("pur", epsilon=0.5)
    with pytest.raises(InputError, match="epsilon"):
        guarantee_of("pure", epsilon=0.0)


@pytest.mark.parametrize("guarantee", [PureDP(0.3), ConcentratedDP(0.3)], ids=str)
def test_noise_and_errors_shrink_with_the_level_as_the_norm_says(guarantee):
    """Noise four times as small is that of the level which holds between groups of four."""
    stronger = guarantee.scaled(4.0**guarantee.norm)
    assert stronger == guarantee.group(4)
    for sensitivity in (1.0, 3.0):
        noise = guarantee.noise(sensitivity)
        assert stronger.noise(4 * sensitivity).std == pytest.approx(noise.std, rel=1e-14)
    # A cell and the sum count each record: 2 in L1, the root of 2 in L2.
    both = guarantee.noise(2.0 ** (1 / guarantee.norm))
    assert both.std == pytest.approx(guarantee.signed_error, rel=1e-14)
