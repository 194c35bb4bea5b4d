from analyzers.gids import address, is_ipv4, link_local, words
from roce.model import Gid

FE80 = "fe80:0000:0000:0000:02aa:bbff:fecc:0001"
IPV4 = "0000:0000:0000:0000:0000:ffff:c633:6406"
GLOBAL = "fd00:0001:0000:0000:0000:0000:0000:0005"


def test_addresses_are_told_apart() -> None:
    assert is_ipv4(Gid(0, IPV4))
    assert not is_ipv4(Gid(0, GLOBAL))
    assert link_local(Gid(0, FE80))
    assert not link_local(Gid(0, GLOBAL))
    # 169.254.0.0/16 is link-local too, but a GID of it is an IPv4 one and NCCL takes it.
    assert not link_local(Gid(0, "0000:0000:0000:0000:0000:ffff:a9fe:0001"))


def test_what_is_no_gid_stands_for_no_address() -> None:
    assert str(address(Gid(2, "not an address"))) == "::"
    assert words(Gid(2, "not an address", "RoCE v2")) == "RoCE v2, not IPv4"
