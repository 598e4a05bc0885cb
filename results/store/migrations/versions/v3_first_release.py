"""Version 3, the first one to be released; adds what stores of versions 1 and 2 lack."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "3", None

_HOST = {"sqlite": "json_extract(plan, '$.host')", "postgresql": "(plan ->> 'host')"}


def upgrade() -> None:
    """Adds the table of documents and three indices; version 2 has the table and the first index."""
    op.create_table(
        "documents",
        sa.Column("document_id", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.String, sa.ForeignKey("runs.run_id"), nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("run_id", "name"),
        if_not_exists=True,
    )
    host = sa.text(_HOST[op.get_bind().dialect.name])
    op.create_index("ix_runs_host_started_at", "runs", [host, "started_at"], if_not_exists=True)
    op.create_index("ix_cells_run_id_verdict", "cells", ["run_id", "verdict"])
    op.create_index("ix_runs_started_at", "runs", ["started_at", "run_id"])
