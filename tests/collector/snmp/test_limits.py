from math import inf

import pytest

from collector.snmp.limits import Limits, try_ends


@pytest.mark.parametrize(
    ("limits", "ends"),
    [
        (Limits(2.0, 0, inf), [102.0]),
        (Limits(2.0, 2, inf), [102.0, 104.0, 106.0]),
        (Limits(2.0, 2, 105.0), [102.0, 104.0, 105.0]),
        (Limits(2.0, 2, 104.0), [102.0, 104.0]),
        (Limits(2.0, 2, 100.0), []),
        (Limits(2.0, 2, 50.0), []),
    ],
)
def test_tries_last_their_timeout_and_end_with_the_limits(
    limits: Limits, ends: list[float]
) -> None:
    assert list(try_ends(100.0, limits)) == ends
