"""Import modules in the process that kernels are forked from, but for those that fail.

A notebook that imports such a module then says itself what is wrong with it.
"""

import contextlib
import importlib
import os

NAMES = "MICRODATA_PRICE_PRELOAD"
"""The variable of the environment that lists the modules."""

for _name in os.environ.get(NAMES, "").split():
    with contextlib.suppress(Exception, SystemExit):
        importlib.import_module(_name)
