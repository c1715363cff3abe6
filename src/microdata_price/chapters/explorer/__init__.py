"""Numbers of the page with sliders: all that it draws and says."""
