import json

from rocediag.mask import Mask, of_fabric

GID = "0000:0000:0000:0000:0000:ffff:0a0a:0001"
FACTS = {
    "at": 1.0,
    "device": "acme-gpu1",
    "facts": {
        "ports": {
            "mlx5_0/1": {
                "mac": "b8:3f:d2:aa:bb:01",
                "firmware": "28.39.1002",
                "gids": [{"index": 3, "gid": GID, "type": "RoCE v2"}],
                "aliases": ["acme storage"],
            }
        },
        "neighbours": [
            {"port": "mlx5_0/1", "device": "acme-leaf1", "remote_port": "Ethernet0"},
            {"port": "mlx5_0/1", "device": "acme-core9", "chassis": "B8-3F-D2-AA-BB-01"},
        ],
    },
}


def mask() -> Mask:
    return Mask([("acme-leaf1", "leaf"), ("acme-gpu1", "host"), ("acme-gpu10", "host")])


def test_devices_are_named_by_their_role_wherever_they_stand() -> None:
    told = mask().tree({"device": "acme-gpu10", "summary": "acme-gpu1:mlx5_0/1 holds acme-leaf1"})
    assert told == {"device": "host-02", "summary": "host-01:mlx5_0/1 holds leaf-01"}
    assert mask().tree({"acme-gpu1": 5}) == {"host-01": 5}


def test_nothing_of_the_identities_is_left_and_what_they_are_can_be_seen() -> None:
    told = mask().neighbours(FACTS)
    text = json.dumps(told)
    for secret in ("acme", "b8:3f", "B8-3F", "0a0a:0001"):
        assert secret not in text
    port = told["facts"]["ports"]["mlx5_0/1"]
    assert port["gids"][0]["gid"].startswith("0000:0000:0000:0000:0000:ffff:c612:")
    assert port["firmware"] == "28.39.1002"
    assert port["aliases"] == ["alias-01"]
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
