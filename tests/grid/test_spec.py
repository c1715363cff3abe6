"""What a grid consists of, however it is asked for, and what is refused."""

import pytest

from microdata_price.exceptions import InputError
from microdata_price.grid import spec as gs
from microdata_price.model.benchmark import names
from microdata_price.model.privacy import ConcentratedDP, PureDP


def test_the_defaults_are_the_papers():
    spec = gs.GridSpec()
    assert (len(spec.pairs), spec.fits) == (186, 930_000)
    assert (spec.epsilons, spec.rhos) == ((1.0, 0.5, 0.1), (0.5, 0.125, 0.005))
    assert spec == gs.GridSpec.choose()


def test_what_is_asked_for_is_chosen_in_one_order():
    one = gs.GridSpec(("Stair-2d", "Stair-1d"), (0.5, 1, 0.5), (), ("nnls", "ols"), 10)
    two = gs.GridSpec(("Stair-1d", "Stair-2d"), (1.0, 0.5), (), ("ols", "nnls", "ols"), 10)
    assert one == two
    choose = gs.GridSpec.choose
    # Giving one kind of level leaves the other out.
    assert choose(epsilon=[2]).guarantees == (PureDP(2.0),)
    assert choose(rho=[2]).guarantees == (ConcentratedDP(2.0),)
    both = choose(rho=[2], epsilon=[3, 1]).guarantees
    assert both == (PureDP(3.0), PureDP(1.0), ConcentratedDP(2.0))
    assert choose("pums").datasets == names("pums")
    assert choose(["2d", "1d"]).datasets == names("1d") + names("2d")
    assert choose("2d", datasets=["Stair-2d"]).datasets == ("Stair-2d",)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"family": "3d"}, "there is no family '3d'"),
        ({"datasets": ["PUMA101301"]}, "there is no data set 'PUMA101301'; did you mean PUMA"),
        ({"family": "1d", "datasets": ["Stair-2d"]}, "'Stair-2d' is not of the family 1d"),
        ({"methods": ["nlns"]}, "there is no method 'nlns'; did you mean nnls"),
        ({"epsilon": [0.0]}, "epsilon is 0; it must be a positive"),
        ({"epsilon": [float("nan")]}, "epsilon is nan"),
        ({"rho": [float("inf")]}, "rho is inf"),
        ({"rho": ["half"]}, "rho is 'half'"),
        ({"runs": 0}, "runs is 0; it must be a whole number from 1 to"),
        ({"runs": 2.5}, "runs is 2.5"),
        ({"runs": True}, "runs is True"),
        ({"seed": -1}, "seed is -1; it must be a whole number from 0"),
    ],
)
def test_bad_input_is_one_clear_sentence(asked, message):
    with pytest.raises(InputError) as caught:
        gs.GridSpec.choose(**asked)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_grid_needs_a_level_a_data_set_and_a_method():
    for without, said in (
        ({"datasets": ()}, "no data set is named"),
        ({"epsilons": (), "rhos": ()}, "no privacy level is given"),
        ({"methods": ()}, "no method is named"),
    ):
        with pytest.raises(InputError, match=said):
            gs.GridSpec(**without)


def test_workers():
    assert gs.check_workers(None) == gs.processors() >= 1
    assert gs.check_workers(4 * gs.processors()) == 4 * gs.processors()
    for workers in (0, -1, 10_000, 1.5, "two", True):
        with pytest.raises(InputError, match=r"workers is .* it must be a whole number from 1 to"):
            gs.check_workers(workers)
