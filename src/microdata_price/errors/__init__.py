"""From fits to expected errors: sums over runs, estimates, exact values."""
