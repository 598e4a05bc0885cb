"""Documents, and runs by host: without this step an older store could not keep a preflight's history."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "2", "1"

_HOST = {"sqlite": "json_extract(plan, '$.host')", "postgresql": "(plan ->> 'host')"}


def upgrade() -> None:
    """Makes the table of documents, and the index of runs by the host that their plans name."""
    op.create_table(
        "documents",
        sa.Column("document_id", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.String, sa.ForeignKey("runs.run_id"), nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("run_id", "name"),
    )
    host = _HOST[op.get_bind().dialect.name]
    op.create_index("ix_runs_host_started_at", "runs", [sa.text(host), "started_at"])
