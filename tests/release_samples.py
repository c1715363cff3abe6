"""A small table with its schema, for the tests of releases."""

import csv
import json

import numpy as np

from microdata_price.model.privacy import PureDP
from microdata_price.release.folder import sealed
from microdata_price.release.measure import measure_privately
from microdata_price.tables.schemas import Schema
from microdata_price.tables.workloads import DEFAULT, parse_workload

SCHEMA = Schema(("region", "sex"), (("north", "south", "west"), ("f", "m")))
CODES = Schema(("RAC1P", "HISP"), (tuple(map(str, range(1, 10))), tuple(map(str, range(1, 25)))))
TABLE = np.array([[30.0, 0.0], [1.0, 20.0], [0.0, 12.0]])
WORKLOAD = parse_workload(DEFAULT, SCHEMA)
ONE = PureDP(1.0)


def measured(guarantee=ONE, **more):
    """Measure the small table, or another, for real."""
    given = {"table": TABLE, "schema": SCHEMA, "workload": WORKLOAD, **more}
    return measure_privately(guarantee=guarantee, **given)


def counts_csv(schema, table):
    """Write a table of counts, one row a cell."""
    counts = np.ravel(np.asarray(table)).astype(int)
    return str(schema.frame().assign(count=counts).to_csv(index=False))


def rows(source):
    """Read a CSV file, or what is in it, by its headings."""
    data = source if isinstance(source, bytes) else source.read_bytes()
    return list(csv.DictReader(data.decode().splitlines()))


def edited(folder, **changes):
    """Change fields of a manifest and make its checksum anew."""
    path = folder / "manifest.json"
    path.write_text(json.dumps(sealed({**json.loads(path.read_text()), **changes})))
