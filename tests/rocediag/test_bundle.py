import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from roce.errors import ConfigError
from rocediag import bundle
from rocediag.mask import Mask


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


def test_one_that_is_broken_off_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tarfile.TarFile, "addfile", ended)
    with pytest.raises(KeyboardInterrupt):
        bundle.write(tmp_path / "x.tar.gz", {"README": b"hello"})
    assert list(tmp_path.iterdir()) == []


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
    told = bundle.masked(parts, mask)
    assert all(b"acme" not in content for content in told.values())
    assert told["metrics.txt"] == b'rocediag_x{device="leaf-01"} 1\n'
    assert len(told["findings.jsonl"].splitlines()) == 2
    with np.load(io.BytesIO(told["ring.npz"])) as arrays:
        assert arrays["rows"].tolist() == ["leaf-01:Ethernet0"]
        assert arrays["cells"].shape == (2,)


def test_metrics_stay_metrics_whatever_a_device_is_called() -> None:
    metrics = b'# HELP rocediag_x of a device\nrocediag_x{device="device",port="a@b"} 1\n'
    told = bundle.masked({"metrics.txt": metrics}, Mask([("device", "host"), ("1", "leaf")]))
    assert told["metrics.txt"] == metrics.replace(b'"device"', b'"host-01"')
