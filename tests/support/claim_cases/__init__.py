"""Made-up runs for each claim of each scenario: what the paper measured, its opposite, a tie, a gap, and noise.

`papers.py` has what was measured, and the TOML files the rest; `case.py` says what their keys mean.
"""
