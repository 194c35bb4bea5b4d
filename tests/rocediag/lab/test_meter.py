import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rocediag.lab.meter import Meter

rates = st.floats(0, 1e11)
spans = st.floats(0, 10)


@given(st.lists(st.tuples(rates, spans), max_size=20), st.floats(0, 1))
def test_counts_never_fall_and_a_look_ahead_never_exceeds_the_next_tick(
    ticks: list[tuple[float, float]], part: float
) -> None:
    meter = Meter(1)
    last = 0
    for rate, seconds in ticks:
        meter.rates = np.array([rate])
        ahead = int(meter.read(part * seconds)[0])
        assert last <= ahead
        meter.advance(seconds)
        now = int(meter.read()[0])
        assert ahead <= now
        last = now


def test_what_is_less_than_one_is_carried_on() -> None:
    meter = Meter(2)
    meter.rates = np.array([0.3, 2.5])
    for _ in range(1000):
        meter.advance(1.0)
    assert meter.read().tolist() in ([300, 2500], [299, 2500])
