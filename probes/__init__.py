"""What measures: without probes a testbed would run and nobody would know how fast."""
