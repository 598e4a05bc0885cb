"""What was measured, kept: records, the store, figures, claims and reports."""
