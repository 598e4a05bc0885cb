"""Indices for many runs at a glance: without this step a list of an older store would read all its certificates."""

from alembic import op

revision, down_revision = "3", "2"


def upgrade() -> None:
    """Makes the indices of cells by verdict and of runs by time."""
    op.create_index("ix_cells_run_id_verdict", "cells", ["run_id", "verdict"])
    op.create_index("ix_runs_started_at", "runs", ["started_at", "run_id"])
