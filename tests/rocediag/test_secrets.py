from pathlib import Path

import pytest

from collector.snmp.usm import Secret
from roce.errors import ConfigError
from rocediag.secrets import Secrets


def value(secret: Secret | None) -> bytes | None:
    return None if secret is None else secret.reveal()


def test_a_file_is_seen_from_the_configurations_folder(tmp_path: Path) -> None:
    (tmp_path / "community").write_text("not so public\n")
    secrets = Secrets(tmp_path, {})
    assert value(secrets.read("community", "snmp_community")) == b"not so public"
    absolute = str(tmp_path / "community")
    assert value(Secrets(Path("/"), {}).read(absolute, "x")) == b"not so public"


def test_blanks_at_its_end_belong_to_it_but_the_lines_end_does_not(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b" a b \r\n")
    assert value(Secrets(tmp_path, {}).read("s", "x")) == b" a b "


def test_systemds_credentials_may_be_named_in_a_file_key(tmp_path: Path) -> None:
    (tmp_path / "secret_leafs").write_text("one")
    secrets = Secrets(Path("/etc"), {"CREDENTIALS_DIRECTORY": str(tmp_path)})
    assert value(secrets.read("$CREDENTIALS_DIRECTORY/secret_leafs", "x")) == b"one"


@pytest.mark.parametrize("name", ["snmp_community", "secret_snmp_community"])
def test_what_is_not_named_is_found_among_the_credentials(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("one")
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path), "ROCEDIAG_SNMP_COMMUNITY": "two"}
    assert value(Secrets(Path("/etc"), environ).read(None, "snmp_community")) == b"one"


def test_then_in_the_environment_then_nowhere(tmp_path: Path) -> None:
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path), "ROCEDIAG_SNMP_COMMUNITY": "two"}
    assert value(Secrets(tmp_path, environ).read(None, "snmp_community")) == b"two"
    assert Secrets(tmp_path, {}).read(None, "snmp_community") is None


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "is empty"), (b"\n", "is empty"), (b"a\nb\n", "one line"), (b"a" * 5000, "one line")],
)
def test_what_is_no_secret_is_refused_in_one_line_that_tells_nothing_of_it(
    tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "s").write_bytes(content)
    with pytest.raises(ConfigError, match=words) as caught:
        Secrets(tmp_path, {}).read("s", "x")
    assert "\n" not in str(caught.value)
    assert "aaaa" not in str(caught.value)


def test_a_file_that_is_not_there_and_credentials_that_are_not_there_are_said(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        Secrets(tmp_path, {}).read("gone", "x")
    with pytest.raises(ConfigError, match="CREDENTIALS_DIRECTORY is not set"):
        Secrets(tmp_path, {}).read("$CREDENTIALS_DIRECTORY/x", "x")


def test_a_secret_never_prints_itself(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("hunter2")
    secret = Secrets(tmp_path, {}).read("s", "x")
    assert "hunter2" not in f"{secret} {secret!r}"
