"""Places and times of tests: in virtual time, by how many workers, and how long each took."""
