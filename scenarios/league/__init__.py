"""The transport league: paths, workloads, claims, and the record in docs/."""
