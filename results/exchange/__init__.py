"""Export and import of runs: JSON, CSV and Parquet."""
