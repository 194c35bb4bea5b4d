import asyncio
import gzip
import io
import json
import re
import tarfile
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from roce.model import Batch, DeviceFacts, Facts, Place
from tests.programs import free_port
from tests.rocediag.cli.conftest import NOW, Ask, Daemon, finding, serving
from tests.rocediag.planted import FACTS, NAMES, SECRETS, SETTINGS

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
    assert b"gpu07" not in parts["findings.jsonl"]


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
    assert "without all that only a daemon has: no daemon answers" in err
    assert "without config.json" in err
    assert set(read(path)) >= {"README", "about.json", "config.json"}


async def test_the_store_is_that_of_the_settings_that_are_packed(
    daemon: Daemon, cli: Ask, tmp_path: Path
) -> None:
    settings = tmp_path / "other.toml"
    settings.write_text(f'[store]\nurl = "{daemon.store}"\n')
    path, nobody = tmp_path / "b.tar.gz", f"http://127.0.0.1:{free_port()}"
    asked = ("bundle", "--mask", "--output", str(path), "--config", str(settings))
    code, _, _ = await cli(*asked, "--url", nobody)
    assert code == 0
    parts = read(path)
    assert len(parts["findings.jsonl"].splitlines()) == 2
    # Neither the settings nor a daemon says who there is.
    for name, content in parts.items():
        assert b"gpu" not in content, name
        assert str(tmp_path).encode() not in content, name


PLANTED = finding(
    root=Place("acme-gpu1", "mlx5_0/1", 3),
    path=("acme-gpu1:mlx5_0/1", "acme-leaf1:Ethernet12"),
    summary="acme-gpu1 (10.77.3.3) holds ACME-LEAF1.acme.example on acme0, b8:3f:d2:aa:bb:01",
    figures={"gid": "fd77::9", "netdev": "acme0"},
    remedy=("on acme-gone9: ethtool acme0", "ask for acme lab"),
)
GONE = finding(id="ba9876543210", state="resolved", resolved_at=NOW, root=Place("acme-gone9"))


@pytest.mark.parametrize("masked", [(), ("--mask",)])
async def test_no_secret_and_masked_no_name_of_a_site_is_in_any_part(
    cli: Ask, tmp_path: Path, masked: tuple[str, ...]
) -> None:
    settings, path = tmp_path / "acme.toml", tmp_path / "b.tar.gz"
    settings.write_text(SETTINGS)
    planted = {"site": "acme lab", "switch": "acme-leaf1", "server": "acme-gpu1"}
    async with serving(tmp_path, PLANTED, GONE, **planted) as daemon:
        daemon.service.take(FACTS)
        asked = ("bundle", "--output", str(path), "--config", str(settings), *masked)
        code, out, err = await cli(*asked, "--url", daemon.url)
    assert code == 0
    parts = {name: content.decode(errors="replace") for name, content in read(path).items()}
    assert set(parts) == LIVE
    hidden = [*SECRETS, *(NAMES if masked else ())]
    assert [(s, name) for s in hidden for name, text in parts.items() if s in text] == []
    assert [s for s in SECRETS if s in out + err] == []
    everything = "".join(parts.values())
    if masked:
        assert {"host-01", "spine-01", "site-01", "other-01", "if-01"} <= set(
            re.findall(r"[a-z]+-\d\d", everything)
        )
    else:
        assert [s for s in ("acme lab", "acme0", "b8:3f:d2:aa:bb:01") if s not in everything] == []


async def test_a_masked_capture_names_nobody(cli: Ask, tmp_path: Path) -> None:
    folder = tmp_path / "capture"
    planted = {"site": "acme lab", "switch": "acme-leaf1", "server": "acme-gpu1"}
    async with serving(tmp_path, **planted) as daemon:
        daemon.service.take(FACTS)
        asked = ("record", str(folder), "--mask", "--seconds", "3", "--url", daemon.url)
        command = asyncio.create_task(cli(*asked))
        while not (folder / "fabric.json").exists():
            await asyncio.sleep(0.01)
        # What was known before is told as of the capture's beginning: the sample must be of then.
        now = time.time()
        daemon.service.take(Batch(now, "acme-gpu1", ("mlx5_0/1",), (), "sysfs", "boot-7f3a"))
        daemon.service.take(msgspec.structs.replace(FACTS, at=now))
        code, out, _ = await command
    assert (code, out) == (0, f"{folder}: 1 batches, 2 facts\n")
    with gzip.open(folder / "samples.jsonl.gz", "rt") as opened:
        told = opened.read()
    told += "".join((folder / name).read_text() for name in ("fabric.json", "facts.jsonl"))
    assert [name for name in NAMES if name in told] == []
    assert told.count('"device":"host-01"') == 3
    # One sample decides nothing, but replay takes it.
    code, _, err = await cli("replay", str(folder))
    assert (code, err) == (4, "")
