import pytest
from sqlalchemy.engine import make_url
from sqlalchemy.schema import CreateIndex, CreateTable

from rocediag.store.schema import DAEMON, FINDINGS, METADATA


@pytest.mark.parametrize("backend", ["sqlite", "postgresql+psycopg"])
def test_both_databases_keep_the_open_key_unique(backend: str) -> None:
    dialect = make_url(f"{backend}://").get_dialect()()
    made = [str(CreateIndex(index).compile(dialect=dialect)) for index in FINDINGS.indexes]
    assert (
        "CREATE UNIQUE INDEX uq_findings_open_key ON findings "
        "(rule, device, port, priority) WHERE state = 'open'"
    ) in [" ".join(text.split()) for text in made]


def test_every_table_can_be_made_on_postgresql() -> None:
    dialect = make_url("postgresql+psycopg://").get_dialect()()
    assert list(METADATA.tables.values()) == [FINDINGS, DAEMON]
    for table in METADATA.tables.values():
        assert "DOUBLE PRECISION" in str(CreateTable(table).compile(dialect=dialect))
