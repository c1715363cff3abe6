import numpy as np

from microdata_price.figures.experiments_price import Heat, heat_map
from microdata_price.page.style import render
from microdata_price.studies.prices import MICRO


def test_the_map_of_prices_is_drawn_without_a_warning() -> None:
    prices = np.geomspace(0.02, 7.0, 5 * 2 * len(MICRO)).reshape(5, -1)
    figure = heat_map([Heat("Sum", list("abcde"), prices, [2])], ["low", "high"], 4.0)
    assert render(figure).startswith("<?xml")
