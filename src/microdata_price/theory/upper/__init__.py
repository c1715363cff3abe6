"""What known mechanisms do: exact errors, upper bounds, operating points."""
