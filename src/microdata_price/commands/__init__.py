"""The subcommands of ``microdata-price``, one module each."""
