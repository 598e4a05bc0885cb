"""Where and when tests run: in virtual time, by how many workers, and how long each took."""
