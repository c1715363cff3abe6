"""Numbers of the page with sliders: all that it shows, as two texts of JSON."""
