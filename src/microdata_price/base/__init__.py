"""What knows no mathematics: whole-or-nothing files, hashes, data paths, numbers as text."""
