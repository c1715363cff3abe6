"""What microdata would cost on a table: simulations for the eyes of its holder, never a release."""
