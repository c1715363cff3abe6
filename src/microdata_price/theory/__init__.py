"""Theorems as functions: argument checks and the difficult table here, the rest in rooms."""
