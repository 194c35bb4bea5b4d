import errno
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyroute2 import IPRoute

from collector import linkwatch
from collector.host import HostReader
from collector.linkwatch import LinkWatch, concerns
from collector.netlink import attribute
from collector.sysfs import SysTree
from tests.collector.hosttree import HostTree
from tests.collector.netns import in_new_namespace
from tests.collector.nlkernel import HEADER


def told(kind: int, body: bytes) -> bytes:
    return HEADER.pack(HEADER.size + len(body), kind, 0, 0, 0) + body


def link(index: int, below: int | None = None, kind: int = linkwatch.NEWLINK) -> bytes:
    body = struct.pack("=BxHiII", 0, 1, index, 0, 0)
    if below is not None:
        body += attribute(linkwatch.IFLA_LINK, struct.pack("=i", below))
    return told(kind, body)


def address(index: int) -> bytes:
    return told(linkwatch.NEWADDR, struct.pack("=BBBBi", 2, 24, 0, 0, index))


@pytest.mark.parametrize(
    ("datagram", "ours"),
    [
        (link(4), True),
        (link(5), False),
        (link(9, below=4), True),
        (link(9, below=5), False),
        (link(4, kind=linkwatch.DELLINK), True),
        (address(4), True),
        (address(5), False),
        (address(5) + link(4), True),
        (told(linkwatch.SETDCB, bytes(4)), True),
        (told(24, bytes(12)), False),
        (told(linkwatch.NEWLINK, b"\4"), True),
        (told(linkwatch.NEWLINK, bytes(16) + b"\1"), True),
        (link(9, below=5)[:-1], True),
        (b"\1", True),
    ],
)
def test_what_is_ours_and_what_is_garbled_matters(datagram: bytes, ours: bool) -> None:
    assert concerns(datagram, {4}) is ours


def wait(watch: LinkWatch) -> bool:
    """Look until something changed; the kernel tells of it before the change returns."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        if watch.changed():
            return True
        time.sleep(0.01)
    return False


def test_real_changes_are_noticed_once_and_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, list[bool]] = {}

    def work() -> None:
        with IPRoute() as kernel:
            kernel.link("add", ifname="v0", kind="veth", peer={"ifname": "v1"})
            kernel.link("add", ifname="w0", kind="veth", peer={"ifname": "w1"})
            v0, v1, w0 = (kernel.link_lookup(ifname=n)[0] for n in ("v0", "v1", "w0"))
            watch = LinkWatch()
            watch.follow(["v0", "nope"])

            def after(name: str, change: Callable[[], object]) -> None:
                change()
                found[name] = [wait(watch), watch.changed(), watch.changed()]

            found["nothing"] = [watch.changed()]
            after(
                "address", lambda: kernel.addr("add", index=v0, address="192.0.2.1", prefixlen=24)
            )
            after("mtu", lambda: kernel.link("set", index=v0, mtu=4200))
            kernel.link("set", index=w0, mtu=4200)
            kernel.addr("add", index=v1, address="192.0.2.2", prefixlen=24)
            found["others"] = [watch.changed(), watch.changed()]
            kernel.link("set", index=v0, state="up")
            assert wait(watch)
            after("gone", lambda: kernel.link("del", index=v0))
            monkeypatch.setattr(linkwatch, "MOST_DATAGRAMS", 1)
            watch.follow([])
            for mtu in (4000, 4100, 4200):
                kernel.link("set", index=w0, mtu=mtu)
            found["many"] = [watch.changed()]

    in_new_namespace(work)
    assert found == {
        "nothing": [False],
        "address": [True, True, False],
        "mtu": [True, True, False],
        "others": [False, False],
        "gone": [True, True, False],
        "many": [True],
    }


def test_where_nobody_may_listen_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: LinkWatch) -> None:
        raise OSError(errno.EAFNOSUPPORT, "no netlink")

    monkeypatch.setattr(LinkWatch, "_listen", refuse)
    watch = LinkWatch()
    assert [watch.changed(), watch.changed()] == [False, False]


def test_a_live_hosts_settings_are_read_again_when_its_network_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stirred = [False, False, True, False]
    monkeypatch.setattr(LinkWatch, "changed", lambda _: stirred.pop(0))
    host = HostTree(tmp_path)
    host.device(netdev=None)
    tree = SysTree(host.sys)
    tree.live = True
    reader = HostReader("gpu03", tree)
    facts = [reader.read(float(at), slow=False).facts is not None for at in range(4)]
    assert facts == [True, False, True, False]
    followed: list[set[str]] = []
    monkeypatch.setattr(LinkWatch, "follow", lambda _, names: followed.append(set(names)))
    host.gid("class/infiniband/mlx5_0/ports/1", 0, "fe80::1", "RoCE v2", "ens1f0np0")
    host.gid("class/infiniband/mlx5_0/ports/1", 2, "fe80::2", "RoCE v2", "ens1f0np0.100")
    stirred.append(False)
    reader.read(9.0, slow=True)
    assert followed == [{"ens1f0np0", "ens1f0np0.100"}]
