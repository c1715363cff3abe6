"""Import what the kernels' process shall have; what fails there fails in the notebook, by name."""

import contextlib
import os

for _name in os.environ.get("MICRODATA_PRICE_PRELOAD", "").split():
    with contextlib.suppress(Exception, SystemExit):
        __import__(_name)
