"""From notebooks to the site."""
