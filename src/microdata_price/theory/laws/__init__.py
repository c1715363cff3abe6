"""Laws of outputs, and distances between them."""
