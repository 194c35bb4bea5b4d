from pathlib import Path

from rocediag.store import open_store
from tests.rocediag.cli.conftest import Ask


async def test_it_makes_a_store_and_finds_it_done_the_next_time(cli: Ask, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/findings.db"
    for _ in range(2):
        assert await cli("db", "upgrade", "--store", url) == (0, "the store is up to date\n", "")
    async with open_store(url, readonly=True) as store:
        assert await store.findings() == []


async def test_where_it_cannot_it_says_so(cli: Ask, tmp_path: Path) -> None:
    code, _, err = await cli("db", "upgrade", "--store", f"sqlite:///{tmp_path}/none/x.db")
    assert code == 3
    assert "there is no folder" in err
