"""A whole overlay in one process, deterministic, with faults."""
