"""The tables, in types that SQLite and PostgreSQL share.

A finding's body is the whole of it as JSON; the columns beside it are what is asked for. The
body is text, since SQL's own JSON types refuse or reorder what ours may hold.
"""

from typing import Final

from sqlalchemy import Column, Double, Index, Integer, MetaData, Table, Text, text

METADATA: Final = MetaData(
    naming_convention={"pk": "pk_%(table_name)s", "ix": "ix_%(table_name)s_%(column_0_N_name)s"}
)

FINDINGS: Final = Table(
    "findings",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("rule", Text, nullable=False),
    Column("severity", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("began_at", Double, nullable=False),
    Column("found_at", Double, nullable=False),
    Column("resolved_at", Double),
    # Where there is no device, port or priority stands "" or -1, not NULL: two NULLs differ,
    # and the key of an open finding must be unique without a root too.
    Column("device", Text, nullable=False),
    Column("port", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Index("ix_findings_state_began_at", "state", "began_at"),
    Index(
        "uq_findings_open_key",
        "rule",
        "device",
        "port",
        "priority",
        unique=True,
        sqlite_where=text("state = 'open'"),
        postgresql_where=text("state = 'open'"),
    ),
)
"""One row a finding; a key (rule, device, port, priority) has at most one that is open."""

DAEMON: Final = Table(
    "daemon",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("started_at", Double, nullable=False),
    Column("seen_at", Double, nullable=False),
    Column("version", Text, nullable=False),
    Column("body", Text, nullable=False),
)
"""The daemon's last sign of life: one row, rewritten."""
