from typing import Any

import numpy as np
import pytest

from analyzers.rules.cnp_misqueued import CnpMisqueued
from analyzers.view import View
from analyzers.watch import QUIET
from roce.model import Mode, Site
from tests.analyzers.build import Net


def level(sent: float, carried: float, mode: Mode = Mode.DCQCN, **thresholds: Any) -> int:
    """Let all priorities carry alike; the simulated hosts count on priority 3 alone."""
    made = Net(leaves=1, spines=1, site=Site(cnp_priority=3, mode=mode))
    made.set("gpu11", np_cnp_sent=sent, prio_tx_packets=carried)
    found = made.level(CnpMisqueued(**thresholds), "gpu11")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("sent", "carried", "expected"),
    [
        (1000, 1000, 0),
        (1000, 5000, 0),
        (1000, 400, -1),
        (1000, 200, 2),
        (1000, 0, 2),
        (20, 0, QUIET),
    ],
)
def test_cnps_belong_on_their_priority(sent: float, carried: float, expected: int) -> None:
    assert level(sent, carried) == expected


def test_without_dcqcn_there_is_nothing_to_judge() -> None:
    assert level(1000, 0, Mode.PFC_ONLY) == 0


def test_a_priority_that_is_not_counted_is_not_judged() -> None:
    made = Net(leaves=1, spines=1)
    made.untold[""] = {"prio_tx_packets"}
    assert made.level(CnpMisqueued(), "gpu11") is None
    assert not np.isfinite(View(made.fabric).fabric.queues("prio_tx_packets")).any()


def test_thresholds_are_the_operators() -> None:
    assert level(1000, 200, warning=0.1) == 0
    assert level(1000, 0, floor=2000) == QUIET
