import pytest

from analyzers import words
from rocediag.doctor.checks import PLAIN, mostly, priorities
from tests.rocediag.doctor.server import port, subject


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_every_plain_step_is_one_of_those_of_hosts_and_is_filled_in(name: str) -> None:
    assert name in words._commands()["host"]
    for driver in ("mlx5_core", "bnxt_en", None):
        typed = subject(driver=driver).step(name)
        assert "`" in typed
        assert not set("{}") & set(typed)
        assert "NETDEV" not in typed


def test_a_step_that_no_other_driver_has_a_program_for_is_said_in_words() -> None:
    found = subject(driver="ionic").step("show_dcqcn")
    assert found == "see whether mlx5_1/1 on gpu03 answers marks, and slows down for CNPs"


def test_a_port_knows_its_device_and_number() -> None:
    on = subject()
    assert (on.device, on.number, on.netdev) == ("mlx5_1", "1", "enp1s0f0np0")
    assert subject(slaves=("ens1", "ens2")).netdev == "ens1"
    assert subject(netdev=None).netdev == "NETDEV"


def test_most_is_more_than_half_of_enough_that_are_known() -> None:
    speeds = [port(speed_bps=speed) for speed in (1.0, 1.0, 2.0, None)]
    assert mostly(speeds, lambda about: about.speed_bps, 3) == 1.0
    assert mostly(speeds, lambda about: about.speed_bps, 4) is None
    assert mostly(speeds[1:], lambda about: about.speed_bps, 1) is None
    assert mostly((), lambda about: about.speed_bps, 1) is None


def test_priorities_are_named_in_order() -> None:
    assert (priorities({4, 3}), priorities(())) == ("3, 4", "none")
