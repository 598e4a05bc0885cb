"""Made-up runs for each claim of each scenario: what the paper measured, its opposite, a tie, a gap, and noise."""
