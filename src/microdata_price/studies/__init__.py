"""What one chapter computes and says beyond the grid and the theory."""
