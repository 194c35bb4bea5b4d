from pathlib import Path

import pytest

from roce.errors import StoreError
from rocediag.store.engine import Access, Address


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:sec@ret@db/x", "postgresql://***@db/x"),
        ("sqlite:////var/lib/findings.db", "sqlite:////var/lib/findings.db"),
        ("postgresql://me:secret@db/x", "postgresql://me:***@db/x"),
        ("postgresql://db/x?password=secret", "postgresql://db/x"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    address = Address.parse(url)
    assert address.shown == shown
    assert "secret" not in repr(address)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("secret nonsense", "the store's URL cannot be read"),
        ("mysql://me:secret@db/x", "use sqlite or postgresql, not mysql"),
        ("sqlite://", "name a file"),
        ("sqlite:///:memory:", "name a file"),
        ("sqlite://host/secret-less", "name a file"),
        ("sqlite:////x\0y", "name a file"),
        ("sqlite://[", "name a file"),
    ],
)
def test_what_is_no_store_is_said_in_one_line(url: str, expected: str) -> None:
    with pytest.raises(StoreError, match=expected) as caught:
        Address.parse(url)
    assert "secret " not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_only_an_upgrade_may_make_the_file(tmp_path: Path) -> None:
    for access in (Access.READ, Access.WRITE):
        with pytest.raises(StoreError, match=r"no such file.*rocediag db upgrade --store sqlite"):
            Address.parse(f"sqlite:///{tmp_path}/none.db").engine(access)
    with pytest.raises(StoreError, match="there is no folder"):
        Address.parse(f"sqlite:///{tmp_path}/no/none.db").engine(Access.CREATE)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    address = Address.parse("postgresql://me:secret@db/x")
    with pytest.raises(StoreError, match=r"me:\*\*\*@db/x: the driver psycopg is not installed"):
        address.engine(Access.WRITE)


def test_an_unknown_error_is_still_one_line() -> None:
    address = Address.parse("sqlite:////x")
    with pytest.raises(StoreError) as caught, address.errors("read it"):
        raise OSError("first\nsecond")
    assert str(caught.value) == "store sqlite:////x: cannot read it: first"
    with pytest.raises(StoreError, match="read it: OSError"), address.errors("read it"):
        raise OSError
