"""Speed, as ratios measured in one process: `python -m benchmarks` or `make benchmarks`.

Each module has one function that returns a data frame:

- `per_fit.per_fit`: milliseconds a fit of a 9 x 24 table, ours and other solvers';
- `scaling.list_scaling`: seconds a list against its length, beside `numpy.sort`;
- `large_tables.large_tables`: seconds a large two-way table, beside an interior-point solver;
- `workloads.workloads`: overlapping workloads, with and without cells, beside other solvers, and
  `workloads.ratios`, which must stay below `workloads.PROMISED`;
- `workloads.sizes`: the largest tables, with their memory;
- `before.before`: the paper's fits against another version of the package (``--base``);
- `book.book`: the processor time of the whole book against another version (``--only book``).
"""
