import asyncio
import gc
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from collector import mqtt
from collector.mqtt import LONGEST_PAUSE, Broker, Link, Message, Tls, Will, connect, pause_seconds
from collector.secret import Secret
from roce.errors import ConfigError, Denied, Unreachable
from tests.certificates import Authority
from tests.mosquitto import Mosquitto, mosquitto
from tests.programs import free_port, program

BATCH = "rocediag/v1/gpu03/batch"

TLS = """
cafile {folder}/ca.pem
certfile {folder}/broker.pem
keyfile {folder}/broker.key
require_certificate true
use_identity_as_username true
acl_file {folder}/acl
"""

ACL = """
user rocediag
topic read rocediag/v1/+/+
topic write rocediag/v1/+/request

pattern write rocediag/v1/%u/batch
pattern read rocediag/v1/%u/request
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Mosquitto]:
    with mosquitto(tmp_path) as running:
        yield running


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[tuple[Mosquitto, Authority]]:
    authority = Authority(tmp_path)
    authority.sign("broker")
    (tmp_path / "acl").write_text(ACL)
    with mosquitto(tmp_path, TLS.format(folder=tmp_path)) as running:
        yield running, authority


def broker(server: Mosquitto, client_id: str = "one") -> Broker:
    return Broker("127.0.0.1", server.port, client_id)


class Ears:
    """Hears what comes."""

    def __init__(self) -> None:
        self.came: list[Message] = []
        self._woken = asyncio.Event()

    def __call__(self, message: Message) -> None:
        self.came.append(message)
        self._woken.set()

    async def until(self, count: int) -> list[Message]:
        async with asyncio.timeout(8):
            while len(self.came) < count:
                self._woken.clear()
                await self._woken.wait()
        return self.came


async def test_it_is_known_whether_anybody_listens(server: Mosquitto) -> None:
    ears = Ears()
    async with connect(broker(server), Ears()) as link:
        assert not await link.publish(BATCH, b"one")
        async with connect(broker(server, "two"), ears) as other:
            await other.subscribe(["rocediag/v1/+/batch", "rocediag/v1/+/state"])
            assert await link.publish(BATCH, b"two", sent_at=12.5)
            assert await link.publish("rocediag/v1/gpu03/state", b"three")
            first, second = await ears.until(2)
    assert first == Message(BATCH, b"two", 3, retained=False, sent_at=12.5)
    assert (second.topic, second.sent_at) == ("rocediag/v1/gpu03/state", None)


async def test_what_is_retained_comes_to_who_listens_later(server: Mosquitto) -> None:
    ears = Ears()
    async with connect(broker(server), Ears()) as link:
        await link.publish(BATCH, b"kept", retain=True)
    async with connect(broker(server), ears) as link:
        await link.subscribe([BATCH])
        (message,) = await ears.until(1)
    assert (message.payload, message.retained) == (b"kept", True)


async def test_of_a_large_payload_only_the_size_is_kept(server: Mosquitto) -> None:
    ears = Ears()
    async with connect(broker(server), Ears()) as link, connect(broker(server, "two"), ears) as us:
        await us.subscribe([BATCH])
        for size in (1 << 20, (1 << 20) + 1, 10_000_000, 17 << 20, 1):
            await link.publish(BATCH, b"x" * size)
        came = await ears.until(4)
    assert [(len(m.payload), m.size) for m in came] == [
        (1 << 20, 1 << 20),
        (0, (1 << 20) + 1),
        (0, 10_000_000),
        (1, 1),
    ]


async def test_a_session_goes_on_where_it_was_unless_it_is_begun_afresh(server: Mosquitto) -> None:
    us, ears = broker(server, "two"), Ears()
    async with connect(us, ears) as link:
        await link.subscribe([BATCH])
    async with connect(broker(server), Ears()) as link:
        assert await link.publish(BATCH, b"meanwhile")
    async with connect(us, ears):
        await ears.until(1)
    async with connect(us, ears, afresh=True), connect(broker(server), Ears()) as link:
        assert not await link.publish(BATCH, b"nobody asked for it")


async def test_the_will_is_published_for_who_is_gone_without_a_word(server: Mosquitto) -> None:
    ears = Ears()
    async with connect(broker(server), ears) as link:
        await link.subscribe(["will"])
        async with connect(broker(server, "polite"), Ears(), Will("will", b"not this")):
            pass
        async with connect(broker(server, "cut off"), Ears(), Will("will", b"gone")) as cut:
            line = cut._client._client.socket()
            assert isinstance(line, socket.socket)
            line.shutdown(socket.SHUT_RDWR)
            with pytest.raises(Unreachable, match="is lost"):
                await cut.wait(asyncio.Event(), 5)
        (message,) = await ears.until(1)
    assert (message.payload, message.retained) == (b"gone", False)


async def test_a_broker_that_dies_is_unreachable_at_once(server: Mosquitto) -> None:
    us = broker(server)
    async with connect(us, Ears()) as link:
        woken = asyncio.Event()
        woken.set()
        await link.wait(woken, 5)
        await link.wait(asyncio.Event(), 0.01)
        server.kill()
        with pytest.raises(Unreachable, match=rf"127.0.0.1 port {server.port}: .* lost"):
            await link.wait(asyncio.Event(), 5)
        for _ in range(2):
            with pytest.raises(Unreachable):
                await link.publish(BATCH, b"x")
    with pytest.raises(Unreachable, match="does not answer: Connection refused"):
        async with connect(us, Ears()):
            pass


async def test_who_waits_for_the_brokers_word_hears_that_it_died(server: Mosquitto) -> None:
    async def publish(link: Link) -> None:
        while True:
            await link.publish(BATCH, b"x")

    async with connect(broker(server), Ears()) as link:
        publishing = asyncio.create_task(publish(link), name="publish")
        await asyncio.sleep(0.05)
        server.kill()
        async with asyncio.timeout(5):
            with pytest.raises(Unreachable):
                await publishing


async def test_passwords_let_in_and_keep_out(tmp_path: Path) -> None:
    tool = program("mosquitto_passwd", "mosquitto")
    file = tmp_path / "passwd"
    subprocess.run([tool, "-c", "-b", file, "gpu03", "rights3cret"], check=True)
    with mosquitto(tmp_path, f"password_file {file}") as server:
        right = replace(broker(server), user="gpu03", password=Secret("rights3cret"))
        async with connect(right, Ears()) as link:
            await link.publish(BATCH, b"x")
        with pytest.raises(Denied, match="does not let us in") as caught:
            async with connect(replace(right, password=Secret("tops3cret")), Ears()):
                pass
    assert "tops3cret" not in str(caught.value)


async def test_tls_with_certificates_says_who_may_publish_what(
    secured: tuple[Mosquitto, Authority],
) -> None:
    server, authority = secured
    ears = Ears()

    def us(name: str) -> Broker:
        return replace(broker(server, name), tls=Tls(authority.ca, *authority.sign(name)))

    async with (
        connect(us("rocediag"), ears) as daemon,
        connect(us("gpu03"), Ears()) as gpu03,
    ):
        await daemon.subscribe(["rocediag/v1/+/batch"])
        assert await gpu03.publish(BATCH, b"mine")
        assert [m.payload for m in await ears.until(1)] == [b"mine"]
        with pytest.raises(Denied, match="refuses what we publish as rocediag/v1/gpu04/batch"):
            await gpu03.publish("rocediag/v1/gpu04/batch", b"not mine")
        await daemon.publish("rocediag/v1/gpu03/request", b"")
        assert len(ears.came) == 1


# paho leaves a socket whose handshake fails to the garbage collector, which complains.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_who_cannot_show_a_certificate_or_is_not_trusted_is_kept_out(
    secured: tuple[Mosquitto, Authority], tmp_path: Path
) -> None:
    server, authority = secured
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other", "other")
    for tls in (
        Tls(authority.ca),
        Tls(other.ca, *authority.sign("gpu03")),
        Tls(authority.ca, *other.sign("gpu03")),
    ):
        with pytest.raises(Unreachable):
            async with connect(replace(broker(server), tls=tls), Ears()) as link:
                await link.wait(asyncio.Event(), 5)
    gc.collect()


def test_files_for_tls_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    cert, key = authority.sign("gpu03")
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("nonsense")
    with pytest.raises(ConfigError, match=r"gone.pem: no certificates can be read: No such file"):
        Tls(tmp_path / "gone.pem").context()
    with pytest.raises(ConfigError, match=r"nonsense.pem: no certificates can be read"):
        Tls(nonsense).context()
    with pytest.raises(ConfigError, match="certificate and key cannot be used"):
        Tls(authority.ca, cert, authority.sign("other")[1]).context()
    assert Tls(authority.ca, cert, key).context().check_hostname


async def test_nobody_at_all_is_unreachable() -> None:
    with pytest.raises(Unreachable, match="does not answer"):
        async with connect(Broker("127.0.0.1", free_port(), "x"), Ears()):
            pass


async def test_one_that_takes_the_call_and_says_nothing_is_given_up_and_hung_up_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mqtt, "TIMEOUT_SECONDS", 0.2)
    ended = asyncio.Event()

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        ended.set()

    async with await asyncio.start_server(mute, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Unreachable, match="does not answer: Operation timed out"):
            async with connect(Broker("127.0.0.1", port, "x"), Ears()):
                pass
        await asyncio.wait_for(ended.wait(), 5)


def test_pauses_grow_up_to_a_cap_and_differ() -> None:
    assert all(0 < pause_seconds(1) <= 1 for _ in range(50))
    late = [pause_seconds(10_000) for _ in range(50)]
    assert len(set(late)) > 40
    assert all(LONGEST_PAUSE * 0.3 <= pause <= LONGEST_PAUSE for pause in late)


async def test_whoever_is_cancelled_ends_whatever_happens_at_that_moment(
    server: Mosquitto,
) -> None:
    async def stay(delay: float) -> None:
        async with connect(broker(server), Ears()):
            await asyncio.sleep(delay)

    for n in range(60):
        task = asyncio.create_task(stay(0.001 if n % 2 else 10), name="stay")
        await asyncio.sleep(n * 0.0002)
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=5)
        assert done == {task}
        assert task.cancelled() or task.exception() is None
