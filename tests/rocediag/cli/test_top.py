import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.roce.build import batch, block
from tests.rocediag.cli.conftest import Ask, Daemon

ROCEDIAG = Path(sys.executable).with_name("rocediag")


async def test_where_nobody_watches_it_is_one_round(daemon: Daemon, cli: Ask) -> None:
    daemon.service.take(batch("gpu03", time.time(), ["mlx5_0/1"], block({"tx_bytes": [1]})))
    code, out, _ = await cli("top", "--url", daemon.url)
    lines = out.splitlines()
    assert (code, len(lines)) == (0, 3)
    assert lines[0].startswith("FAULTY; open findings: 1; ranked by held; newest sample")
    assert lines[2].startswith("gpu03:mlx5_0/1")


async def test_before_any_sample_it_says_so(daemon: Daemon, cli: Ask) -> None:
    _, out, _ = await cli("top", "--url", daemon.url)
    assert out.splitlines()[0].endswith("; no sample yet")


async def test_json_is_one_line(daemon: Daemon, cli: Ask) -> None:
    code, out, _ = await cli("top", "--by", "dropped", "--json", "--url", daemon.url)
    assert code == 0
    assert json.loads(out)["cables"] == []


async def test_on_a_terminal_it_goes_on_until_control_c(daemon: Daemon, cli: Ask) -> None:
    ours, theirs = pty.openpty()
    environ = os.environ | {"TERM": "xterm", "ROCEDIAG_URL": daemon.url}
    command = [str(ROCEDIAG), "top", "--seconds", "0.5"]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, env=environ) as process:
        os.close(theirs)

        def drawn(looks: int) -> None:
            seen = b""
            while seen.count(b"ranked by held") < looks:
                seen += os.read(ours, 4096)

        await asyncio.wait_for(asyncio.to_thread(drawn, 2), 30)
        process.send_signal(signal.SIGINT)
        code = await asyncio.to_thread(process.wait, 10)
        assert process.stderr is not None
        assert (code, process.stderr.read()) == (0, b"")
    os.close(ours)
