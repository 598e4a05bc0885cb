"""A small transfer that tells how long a large one takes."""
