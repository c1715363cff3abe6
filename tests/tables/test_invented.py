"""The invented table, one's own in its place, and their pictures."""

import numpy as np
import pytest

from microdata_price.exceptions import InputError
from microdata_price.figures.own_table import counts, released
from microdata_price.page.style import render
from microdata_price.tables.invented import invented_table, own_table
from microdata_price.tables.schema import Schema
from microdata_price.tables.table_text import table_text


def test_ones_own_table_takes_the_place_of_the_invented_one(tmp_path):
    schema, members = invented_table()
    assert members.shape == schema.shape
    path = tmp_path / "mine.csv"
    path.write_text(table_text(schema, 2 * members.astype(int)))
    found, table = own_table(str(path), "")
    assert found == schema
    np.testing.assert_array_equal(table, 2 * members)
    # Beside the table a schema in another order turns the table; one that is given goes first.
    turned = Schema(schema.columns[::-1], schema.values[::-1])
    (tmp_path / "mine.schema.json").write_text(turned.to_json())
    np.testing.assert_array_equal(own_table(str(path), "")[1], 2 * members.T)
    (tmp_path / "given.json").write_text(schema.to_json())
    given = own_table(str(path), str(tmp_path / "given.json"))[1]
    np.testing.assert_array_equal(given, 2 * members)
    path.write_text("")
    with pytest.raises(InputError, match="is empty"):
        own_table(str(path), "")


@pytest.mark.parametrize("shape", [(1,), (5,), (3, 4), (2, 3, 4), (60, 50)])
@pytest.mark.parametrize("largest", [0, 1, 10**6])
def test_tables_of_any_size_are_drawn(shape, largest):
    schema = Schema(
        tuple(f"c{k}" for k in range(len(shape))),
        tuple(tuple(f"v{i}" for i in range(n)) for n in shape),
    )
    table = np.random.default_rng(0).integers(0, largest, shape, endpoint=True)
    figure = counts(table, schema)
    assert render(figure).startswith("<?xml")
    image = figure.axes[0].get_images()[0].get_array()
    np.testing.assert_array_equal(image.filled(0).ravel(), table.ravel())
    assert render(released(table, table - 3, table)).startswith("<?xml")


def test_a_map_shows_every_count_of_a_small_table():
    schema, members = invented_table()
    figure = counts(members, schema)
    shown = [int(t.get_text()) for t in figure.axes[0].texts]
    assert sorted(shown) == sorted(members[members > 0].astype(int))
