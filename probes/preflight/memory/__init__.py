"""The memory of measurements: what was stored, how it compares, what it predicts."""
