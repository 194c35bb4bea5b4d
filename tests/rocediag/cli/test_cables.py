import pytest

from rocediag.cli import show
from rocediag.cli.cables import CableView, EndView, QueueView, ages, number, percent, table
from rocediag.cli.cables import show as show_cables

NIC = EndView(
    device="gpu03",
    port="mlx5_0/1",
    kind="host",
    seen_marked=0.12,
    queues=(QueueView(priority=3, rx_pause=0.0, tx_pause=0.97, tx_line=0.004),),
    unknown={"queue_dropped_packets": "unsupported", "pfc_rx_frames": "absent"},
)
LEAF = EndView(
    device="leaf1",
    port="Ethernet8",
    kind="switch",
    up=False,
    queues=(QueueView(priority=3, rx_pause_frames=1234.0, marked=0.5, dropped_packets=0.0),),
    unknown={"pfc_rx_pause_seconds": "unsupported", "prio_tx_bytes": "not_readable"},
)


def test_a_cable_is_one_line_with_both_views() -> None:
    head, line = table([CableView(NIC, LEAF)])
    figures = "held holds line mark drop"
    assert " ".join(head.split()) == f"one end pr {figures} other end {figures}"
    nic, leaf = "gpu03:mlx5_0/1 3 0 97% <1% 12% ?", "leaf1:Ethernet8 1.2k/s ? ? 50% 0"
    assert " ".join(line.split()) == f"{nic} {leaf}"


def test_an_end_that_nobody_knows_is_said() -> None:
    _, line = table([CableView(NIC)])
    assert line.endswith("not known")


def test_what_a_question_mark_stands_for_is_said_below(capsys: pytest.CaptureFixture[str]) -> None:
    show_cables(show.console(), [CableView(NIC, LEAF)])
    assert capsys.readouterr().out.splitlines()[2:] == [
        "leaf1:Ethernet8: the link is down",
        "gpu03:mlx5_0/1: unsupported: queue_dropped_packets",
        "leaf1:Ethernet8: not readable: prio_tx_bytes",
    ]


def test_what_is_so_of_several_ports_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    show_cables(show.console(), [CableView(NIC), CableView(NIC)])
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "gpu03, 2 ports: unsupported: queue_dropped_packets"


def test_figures_are_short_and_nothing_is_not_little() -> None:
    assert [percent(x) for x in (None, 0.0, 0.001, 0.5, 1.2)] == ["?", "0", "<1%", "50%", "100%"]
    shown = [number(x) for x in (None, 0.0, 0.2, 999.0, 1500.0, 25000.0, 3e6)]
    assert shown == ["?", "0", "<1", "999", "1.5k", "25k", "3.0M"]


def test_how_old_it_is_is_told_of_the_oldest() -> None:
    def end(name: str, age: float | None) -> EndView:
        return EndView(device=name, port="p", age_seconds=age)

    assert ages([CableView(end("gpu03", 4.0), end("leaf1", None))]) == (
        "newest samples: gpu03 4 s ago, leaf1 never"
    )
    many = [CableView(end(f"gpu{n}", float(n))) for n in range(6)]
    assert ages(many).endswith(
        "gpu5 5 s ago, gpu4 4 s ago, gpu3 3 s ago, gpu2 2 s ago, 2 more since"
    )
