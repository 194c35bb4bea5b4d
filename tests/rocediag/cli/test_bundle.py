import io
import json
import tarfile
import time
from pathlib import Path

import numpy as np
import pytest

from roce.model import DeviceFacts, Facts
from tests.programs import free_port
from tests.rocediag.cli.conftest import Ask, Daemon

LIVE = {
    *("README", "about.json", "config.json", "fabric.json", "facts.jsonl", "findings.jsonl"),
    *("verdict.json", "status.json", "rules.json", "metrics.txt", "ring.npz"),
}


def read(path: Path) -> dict[str, bytes]:
    found = {}
    with tarfile.open(path) as tar:
        for each in tar.getmembers():
            content = tar.extractfile(each)
            assert content is not None
            found[each.name.removeprefix("rocediag-bundle/")] = content.read()
    return found


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "site.toml"
    path.write_text('[[device]]\nname = "gpu03"\nkind = "host"\n[mqtt]\npassword = "s3cr3t"\n')
    return path


async def test_a_living_daemon_gives_all_of_it(
    daemon: Daemon, cli: Ask, tmp_path: Path, config: Path
) -> None:
    daemon.service.take(Facts(time.time(), "gpu03", DeviceFacts(kind="host")))
    path = tmp_path / "b.tar.gz"
    asked = ("bundle", "--output", str(path), "--config", str(config), "--url", daemon.url)
    code, out, err = await cli(*asked)
    assert (code, err) == (0, "")
    assert out.startswith(f"{path}: ")
    parts = read(path)
    assert set(parts) == LIVE
    assert b"s3cr3t" not in b"".join(parts.values())
    assert json.loads(parts["facts.jsonl"])["device"] == "gpu03"
    assert len(parts["findings.jsonl"].splitlines()) == 2
    assert json.loads(parts["about.json"])["missing"] == {}
    with np.load(io.BytesIO(parts["ring.npz"])) as ring:
        assert ring["figures"].tolist()[0] == "held"
        assert ring["cells"].shape[0] == len(ring["at"])
    code, _, err = await cli(*asked)
    assert code == 2
    assert "is there already" in err


async def test_a_masked_one_names_nobody(
    daemon: Daemon, cli: Ask, tmp_path: Path, config: Path
) -> None:
    path = tmp_path / "b.tar.gz"
    asked = ("bundle", "--mask", "--output", str(path), "--config", str(config))
    code, _, _ = await cli(*asked, "--url", daemon.url)
    assert code == 0
    parts = read(path)
    for name, content in parts.items():
        assert b"gpu03" not in content, name
        assert b"spine2" not in content, name
    assert b"host-01" in parts["findings.jsonl"]


async def test_of_a_dead_one_its_store_and_its_settings_are_packed(
    daemon: Daemon, cli: Ask, tmp_path: Path, config: Path
) -> None:
    path = tmp_path / "b.tar.gz"
    asked = ("bundle", "--output", str(path), "--config", str(config), "--store", daemon.store)
    code, _, _ = await cli(*asked)
    assert code == 0
    parts = read(path)
    assert set(parts) == {"README", "about.json", "config.json", "findings.jsonl", "status.json"}
    assert len(parts["findings.jsonl"].splitlines()) == 2


async def test_what_cannot_be_had_is_told_and_the_rest_is_packed(cli: Ask, tmp_path: Path) -> None:
    path = tmp_path / "b.tar.gz"
    nobody = f"http://127.0.0.1:{free_port()}"
    gone = str(tmp_path / "gone.toml")
    code, _, err = await cli("bundle", "--output", str(path), "--config", gone, "--url", nobody)
    assert code == 0
    assert "without ring.npz: no daemon answers" in err
    assert "without config.json" in err
    assert set(read(path)) >= {"README", "about.json", "config.json"}
