"""The paper's theorems and what can be proved beyond them, as functions."""
