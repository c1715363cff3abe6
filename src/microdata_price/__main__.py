"""The command, as ``python -m microdata_price``."""

from .cli import main

if __name__ == "__main__":  # doctest imports every module
    main()
