"""The store of runs: SQLite in a folder, or a PostgreSQL server."""
