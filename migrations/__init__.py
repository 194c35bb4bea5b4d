"""History of the findings store; one for SQLite and PostgreSQL."""
