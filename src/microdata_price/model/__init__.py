"""Tables, query sets, workloads, noise, privacy guarantees and measurements."""
