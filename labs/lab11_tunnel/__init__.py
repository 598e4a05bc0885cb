"""A tunnel over unequal paths."""
