"""Each proof of the paper, inequality by inequality, as numbers."""
