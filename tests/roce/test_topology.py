from hypothesis import given
from hypothesis import strategies as st

from roce.model import End, Link
from roce.topology import NOBODY, peers

ROWS = {("leaf1", "a"): 0, ("leaf1", "b"): 1, ("gpu1", "a"): 2, ("gpu2", "a"): 3}
ENDS = [End(*place) for place in (*ROWS, ("leaf9", "gone"))]


def row(end: End) -> int | None:
    return ROWS.get((end.device, end.port))


def test_each_end_knows_the_other() -> None:
    links = [Link(End("leaf1", "a"), End("gpu1", "a")), Link(End("gpu2", "a"), End("leaf1", "b"))]
    assert peers(links, row, 4).tolist() == [2, 3, 0, 1]


def test_a_link_with_a_missing_end_joins_nothing() -> None:
    links = [Link(End("leaf1", "a"), End("leaf9", "gone"))]
    assert peers(links, row, 4).tolist() == [NOBODY] * 4


def test_a_port_holds_one_cable_and_the_first_one_holds() -> None:
    links = [
        Link(End("leaf1", "a"), End("leaf1", "a")),
        Link(End("leaf1", "a"), End("gpu1", "a")),
        Link(End("gpu1", "a"), End("leaf1", "a")),
        Link(End("gpu2", "a"), End("gpu1", "a")),
        Link(End("gpu2", "a"), End("leaf1", "b")),
    ]
    assert peers(links, row, 4).tolist() == [2, 3, 0, 1]


@given(st.lists(st.builds(Link, st.sampled_from(ENDS), st.sampled_from(ENDS)), max_size=8))
def test_whoever_has_a_peer_is_that_peers_peer(links: list[Link]) -> None:
    found = peers(links, row, 4).tolist()
    for own, other in enumerate(found):
        assert other != own
        assert other == NOBODY or found[other] == own
