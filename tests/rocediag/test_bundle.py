import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from roce.errors import ConfigError
from rocediag import bundle
from rocediag.mask import Mask

TOML = """
include = ["more/*.toml"]
[store]
url = "postgresql://rocediag:s3cr3t-1@db/x?password=s3cr3t-2&sslmode=require"
[alerts.page]
url = "https://u:s3cr3t-3@hook.example/x?token=s3cr3t-4"
headers = { Authorization = "s3cr3t-5" }
[[device]]
name = "leaf1"
snmp = { community = "s3cr3t-6", community_file = "/etc/rocediag/community" }
"""


def test_settings_are_packed_with_what_they_include_and_without_secrets(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.toml").write_text('[mqtt]\npassword = "s3cr3t-7"\nport = 1883\n')
    path = tmp_path / "rocediag.toml"
    path.write_text(TOML)
    content, why = bundle.settings(path)
    assert why is None
    assert b"s3cr3t" not in content
    for kept in (b"db/x", b"sslmode=require", b"hook.example", b"/etc/rocediag/community", b"1883"):
        assert kept in content


def test_what_is_mistyped_or_in_the_wrong_place_is_not_packed(tmp_path: Path) -> None:
    path = tmp_path / "rocediag.toml"
    path.write_text(
        """
        comunity = "s3cr3t-1"
        [alerts.slack]
        url = "https://hooks.example/services/T0/s3cr3t-2"
        [alerts.page]
        urlz = ["s3cr3t-3"]
        [[device]]
        name = "leaf1"
        snmp = { comunity = "s3cr3t-4", community_file = "s3cr3t-5", port = 161 }
        """
    )
    content, _ = bundle.settings(path)
    assert b"s3cr3t" not in content
    for kept in (b"https://hooks.example/***", b'"leaf1"', b"161"):
        assert kept in content


@pytest.mark.parametrize("text", ["= s3cr3t", 'password = "s3cr3t', "\x00"])
def test_settings_that_cannot_be_read_are_told_and_not_quoted(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rocediag.toml"
    path.write_text(text)
    content, why = bundle.settings(path)
    assert (content, why) == (b"{}\n", f"{path}: cannot be read as TOML")


def test_a_bundle_is_for_its_owner_alone_and_overwrites_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    bundle.write(path, {"README": b"hello"})
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(path) as tar:
        assert tar.getnames() == ["rocediag-bundle/README"]
    with pytest.raises(ConfigError, match="is there already"):
        bundle.write(path, {})
    with pytest.raises(ConfigError, match="cannot be written: No such file"):
        bundle.write(tmp_path / "gone" / "x", {})


def test_every_kind_of_part_can_be_masked() -> None:
    mask = Mask([("acme1", "leaf")])
    into = io.BytesIO()
    np.savez_compressed(into, rows=np.array(["acme1:Ethernet0"]), cells=np.zeros(2, np.float16))
    parts = {
        "ring.npz": into.getvalue(),
        "facts.jsonl": b'{"device":"acme1","facts":{"neighbours":[{"device":"acme9"}]}}\n',
        "findings.jsonl": b'{"summary":"acme1 pauses"}\n{"summary":"acme1"}\n',
        "verdict.json": b'{"unmeasured":["acme1: not polled"]}',
        "metrics.txt": b'rocediag_x{device="acme1"} 1\n',
    }
    told = {name: bundle.masked(name, content, mask) for name, content in parts.items()}
    assert all(b"acme" not in content for content in told.values())
    assert told["metrics.txt"] == b'rocediag_x{device="leaf-01"} 1\n'
    assert len(told["findings.jsonl"].splitlines()) == 2
    with np.load(io.BytesIO(told["ring.npz"])) as arrays:
        assert arrays["rows"].tolist() == ["leaf-01:Ethernet0"]
        assert arrays["cells"].shape == (2,)
