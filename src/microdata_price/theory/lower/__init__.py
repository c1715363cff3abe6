"""What no mechanism can do: lower bounds, and where each holds."""
