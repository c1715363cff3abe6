"""Builds the page with sliders and the one that counts dice."""
