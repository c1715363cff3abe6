"""What is asked of a table and what comes back: histograms, query sets, noise, measurements."""
