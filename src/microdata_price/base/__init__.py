"""Helpers without mathematics: whole files, hashes, data paths, numbers as text, threads."""
