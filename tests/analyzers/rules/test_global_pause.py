import pytest

from analyzers.rules.global_pause import GlobalPause
from roce.model import Mode, PortFacts, Site
from tests.analyzers.build import Net

NIC, LEAF = "gpu11", "leaf1:Ethernet1"
QUIET = {
    "tx_pause_frames": 0.0,
    "rx_pause_frames": 0.0,
    "tx_pause_seconds": 0.0,
    "rx_pause_seconds": 0.0,
}


def net(frames: float, share: float, mode: Mode = Mode.LOSSY) -> Net:
    made = Net(leaves=1, spines=1, site=Site(mode=mode))
    made.set(NIC, **(QUIET | {"tx_pause_frames": frames, "tx_pause_seconds": share}))
    made.set(LEAF, **(QUIET | {"rx_pause_frames": frames, "rx_pause_seconds": share}))
    return made


@pytest.mark.parametrize(
    ("share", "level"), [(0.0, 0), (0.004, 0), (0.006, -1), (0.02, 2), (0.2, 3)]
)
def test_time_paused_is_held_against_who_pauses(share: float, level: int) -> None:
    assert net(10.0, share).level(GlobalPause(), NIC) == level
    assert net(10.0, share).level(GlobalPause(), LEAF) == 0


def test_any_frame_is_wrong_where_pfc_is_meant() -> None:
    assert net(10.0, 0.0, Mode.DCQCN).level(GlobalPause(), NIC) == 2
    assert net(0.0, 0.0, Mode.DCQCN).level(GlobalPause(), NIC) == 0


def test_frames_that_may_be_those_of_pfc_say_nothing() -> None:
    made = net(10.0, 0.0, Mode.DCQCN)
    made.hold(LEAF, 0.001)
    assert made.level(GlobalPause(), NIC) == 0


@pytest.mark.parametrize(("enabled", "level"), [(None, -1), ((3,), -1), ((), 2)])
def test_frames_where_pfc_is_not_told_are_wrong_if_pfc_is_off(
    enabled: tuple[int, ...] | None, level: int
) -> None:
    made = net(10.0, 0.0, Mode.DCQCN)
    made.untold[NIC] = {"pfc_tx_frames", "pfc_rx_frames"}
    made.tell(NIC, PortFacts(pfc_enabled=enabled))
    assert made.level(GlobalPause(), NIC) == level


def test_the_paused_end_is_named_where_the_other_is_not_measured() -> None:
    made = net(10.0, 0.2)
    made.silent = {NIC}
    assert made.level(GlobalPause(), LEAF) == 3


def test_what_is_unknown_is_not_judged() -> None:
    assert Net().level(GlobalPause(), NIC) is None


def test_thresholds_are_the_operators() -> None:
    assert net(10.0, 0.2).level(GlobalPause(warning=0.5, critical=0.9), NIC) == 0
