"""The tables as the first Flightpath made them: without this step a store could not be made by steps alone."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "1", None


def upgrade() -> None:
    """Makes runs, cells, metrics, series and claims."""
    op.create_table(
        "runs",
        sa.Column("run_id", sa.String, primary_key=True),
        sa.Column("scenario", sa.String, nullable=False, index=True),
        sa.Column("plan", sa.JSON, nullable=False),
        sa.Column("command", sa.JSON, nullable=False),
        sa.Column("environment", sa.JSON, nullable=False),
        sa.Column("started_at", sa.String, nullable=False),
        sa.Column("ended_at", sa.String),
        sa.Column("status", sa.String, nullable=False),
    )
    op.create_table(
        "cells",
        sa.Column("cell_id", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.String, sa.ForeignKey("runs.run_id"), nullable=False),
        sa.Column("key", sa.String, nullable=False),
        sa.Column("parameters", sa.JSON, nullable=False),
        sa.Column("repetition", sa.Integer, nullable=False),
        sa.Column("order", sa.Integer, nullable=False),
        sa.Column("started_at", sa.String),
        sa.Column("ended_at", sa.String, nullable=False),
        sa.Column("facts", sa.JSON, nullable=False),
        sa.Column("verdict", sa.String, nullable=False),
        sa.Column("reasons", sa.JSON, nullable=False),
        sa.Column("found", sa.JSON, nullable=False),
        sa.UniqueConstraint("run_id", "key", "repetition"),
    )
    op.create_table(
        "metrics",
        sa.Column("metric_id", sa.Integer, primary_key=True),
        sa.Column("cell_id", sa.Integer, sa.ForeignKey("cells.cell_id"), nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.Column("unit", sa.String, nullable=False),
        sa.Column("low", sa.Double),
        sa.Column("high", sa.Double),
        sa.UniqueConstraint("cell_id", "name"),
    )
    op.create_table(
        "series",
        sa.Column("series_id", sa.Integer, primary_key=True),
        sa.Column("cell_id", sa.Integer, sa.ForeignKey("cells.cell_id"), nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("unit", sa.String, nullable=False),
        sa.Column("times", sa.LargeBinary, nullable=False),
        sa.Column("values", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("cell_id", "name"),
    )
    op.create_table(
        "claims",
        sa.Column("claim_id", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.String, sa.ForeignKey("runs.run_id"), nullable=False, index=True),
        sa.Column("claim", sa.String, nullable=False),
        sa.Column("paper", sa.String, nullable=False),
        sa.Column("measured", sa.String, nullable=False),
        sa.Column("verdict", sa.String, nullable=False),
        sa.Column("why", sa.String, nullable=False),
    )
