import json
import re
from pathlib import Path

import pytest

from collector.replay import open_capture
from rocediag.mask import Mask, of_fabric

GID = "0000:0000:0000:0000:0000:ffff:0a0a:0001"
FACTS = {
    "at": 1.0,
    "device": "acme-gpu1",
    "facts": {
        "ports": {
            "mlx5_0/1": {
                "mac": "b8:3f:d2:aa:bb:01",
                "netdev": "acmenet0",
                "firmware": "22.31.1.14",
                "gids": [{"index": 3, "gid": GID, "type": "RoCE v2", "netdev": "acmenet0"}],
                "aliases": ["acme storage"],
            }
        },
        "neighbours": [
            {"port": "mlx5_0/1", "device": "ACME-leaf1.acme.example", "remote_port": "to acme"},
            {"port": "mlx5_0/1", "device": "acme-core9", "chassis": "B8-3F-D2-AA-BB-01"},
        ],
    },
}


def mask() -> Mask:
    return Mask([("acme-leaf1", "leaf"), ("acme-gpu1", "host"), ("acme-gpu10", "host")])


def test_devices_are_named_by_their_role_wherever_they_stand() -> None:
    told = mask().tree({"device": "acme-gpu10", "summary": "acme-gpu1:mlx5_0/1 holds acme-leaf1"})
    assert told == {"device": "host-02", "summary": "host-01:mlx5_0/1 holds leaf-01"}


def test_nothing_of_the_identities_is_left_and_what_they_are_can_be_seen() -> None:
    told = mask().tree(FACTS)
    text = json.dumps(told)
    for secret in ("acme", "b8:3f", "B8-3F", "0a0a:0001"):
        assert secret not in text
    port = told["facts"]["ports"]["mlx5_0/1"]
    assert port["gids"][0]["gid"].startswith("0000:0000:0000:0000:0000:ffff:f000:")
    assert port["firmware"] == "22.31.1.14"
    assert port["netdev"] == port["gids"][0]["netdev"] == "if-01"
    assert port["aliases"] == ["if-02"]
    first, second = told["facts"]["neighbours"]
    assert (first["device"], second["device"]) == ("leaf-01", "other-01")
    assert second["chassis"] == port["mac"] == "02:00:00:00:00:01"


def test_the_same_is_always_the_same_and_others_are_others() -> None:
    it = mask()
    texts = ["10.1.1.1", "10.1.1.2", "fe80::1", "fe80::2", "2001:db8::ff", GID]
    told = [it.text(text) for text in texts]
    assert len(set(told)) == len(texts)
    assert told == [it.text(text) for text in texts]
    assert told[2].startswith("fe80::")
    assert it.text("from 10.1.1.1 to 10.1.1.2") == f"from {told[0]} to {told[1]}"


def test_figures_and_what_is_nobodys_name_stay() -> None:
    it = mask()
    for same in ("127.0.0.1:9946", "::1", "mlx5_0/1", "Ethernet0", "12:30:05", "0.95", ""):
        assert it.text(same) == same
    assert it.tree({"values": {"x": [2**64 - 1]}}) == {"values": {"x": [2**64 - 1]}}
    assert it.tree({"epoch": "boot-7", "n": None}) == {"epoch": "epoch-01", "n": None}


def test_odd_names_and_many_names_are_found_too() -> None:
    it = Mask([("a b:c", "leaf"), *((f"gpu{n}", "host") for n in range(20_000))])
    assert it.text("a b:c holds gpu19999, gpu7. And gpu20000") == (
        "leaf-01 holds host-20000, host-08. And gpu20000"
    )


def test_a_site_without_devices_has_no_names() -> None:
    assert of_fabric({}).text("gpu1") == "gpu1"
    assert of_fabric({"devices": [{"name": "x1", "kind": "host"}]}).text("x1") == "host-01"


@pytest.mark.parametrize("name", ["host", "leaf", "switch", "name", "device", "snmp", "dcqcn"])
def test_a_device_that_is_called_as_a_word_of_ours_leaves_a_capture_whole(
    tmp_path: Path, name: str
) -> None:
    document = {
        "name": "acme",
        "mode": "dcqcn",
        "devices": [{"name": name, "kind": "host", "role": "host"}],
        "ports": [{"device": name, "name": "mlx5_0/1", "speed_bps": 1e11}],
        "links": [],
    }
    told = of_fabric(document).tree(document)
    (tmp_path / "fabric.json").write_text(json.dumps(told))
    capture = open_capture(tmp_path)
    assert (capture.site.name, capture.site.mode) == ("site-01", "dcqcn")
    assert [(d.name, d.kind, d.role) for d in capture.devices] == [("host-01", "host", "host")]
    assert [(p.device, p.name) for p in capture.ports] == [("host-01", "mlx5_0/1")]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("10.1.1.1:161: refused", ":161: refused"),
        ("10.1.1.1.", "."),
        ("10.1.1.0/24", "/24"),
        ("from leaf-1:10.1.1.1", "from leaf-1:"),
        ("fe80::9: refused", ": refused"),
        ("[2001:db8::9]:161", "]:161"),
        ("acme-leaf1.acme.example: refused", ": refused"),
        ("ACME-LEAF1 is down", " is down"),
        ("b83f.d2aa.bb01 is down", " is down"),
        ("B8:3F:D2:AA:BB:01: down", ": down"),
    ],
)
def test_an_identity_is_found_whatever_stands_around_it(text: str, left: str) -> None:
    told = mask().text(text)
    assert left in told
    for part in re.split(r"[\s/\[\]]+", text.replace(left, "")):
        assert len(part) < 5 or part not in told


def test_more_addresses_than_a_small_net_has_stay_different() -> None:
    it = mask()
    assert (
        len({it.text(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}") for n in range(140_000)}) == 140_000
    )


def test_what_is_learnt_is_found_in_texts_and_figures() -> None:
    it = mask()
    it.learn([{"root": {"device": "acme-old7"}}, FACTS])
    remedy = "on acme-old7: echo 1 > /sys/class/net/acmenet0/ecn"
    told = it.tree({"remedy": [remedy], "figures": {"netdev": "acmenet0", "share": 0.5}})
    assert "acme" not in json.dumps(told)
    assert told["figures"]["share"] == 0.5


def test_a_netdev_that_names_a_port_stays_with_the_port() -> None:
    it = Mask([("gpu1", "host")], ["mlx5_bond_0/1@ens1f0np0", "eth9"])
    facts = {"ports": {"mlx5_bond_0/1@ens1f0np0": {"netdev": "ens1f0np0"}, "x": {"netdev": "n7"}}}
    told = it.tree(facts)["ports"]
    assert told == {"mlx5_bond_0/1@ens1f0np0": {"netdev": "ens1f0np0"}, "x": {"netdev": "if-01"}}
    assert it.text("gpu1:mlx5_bond_0/1@ens1f0np0, n7") == "host-01:mlx5_bond_0/1@ens1f0np0, if-01"


def test_a_name_is_hidden_as_a_whole_also_where_a_part_of_it_is_known() -> None:
    it = mask()
    told = it.tree([{"device": "sw-10.1.1.1-acme"}, {"remote_port": "to acme-leaf1 of acme"}])
    assert told == [{"device": "other-01"}, {"remote_port": "if-01"}]
