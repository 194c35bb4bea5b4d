import numpy as np
import pytest

from analyzers.groups import Group
from roce.model import Rates

NAN = float("nan")

# Three devices: four ports, of which three belong; two that belong; one that is alone.
NUMBER = np.array([0, 0, 0, 0, 1, 1, 2], dtype=np.int64)
MEMBER = np.array([True, True, True, False, True, True, True])
GROUP = Group(MEMBER, NUMBER, 3)


def lanes(*rows: list[float]) -> Rates:
    return np.array(rows, dtype=np.float32)


def same(found: Rates, *rows: list[float]) -> None:
    np.testing.assert_array_equal(found, lanes(*rows))
    assert found.dtype == np.float32


@pytest.mark.parametrize(
    ("values", "others"),
    [
        # Each but the fullest has the fullest as its fullest sibling; that one has the second.
        ([0.9, 0.2, 0.4, 1.0, 0.1, 0.3, 0.7], [0.4, 0.9, 0.9, NAN, 0.3, 0.1, NAN]),
        # Of two that are equally full each has the other.
        ([0.9, 0.9, 0.4, 0.0, 0.3, 0.3, 0.7], [0.9, 0.9, 0.9, NAN, 0.3, 0.3, NAN]),
        ([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, NAN, 0.0, 0.0, NAN]),
        # What is not known is nobody's sibling, and an unknown port still has siblings.
        ([NAN, 0.2, 0.4, 0.5, NAN, 0.3, NAN], [0.4, 0.4, 0.2, NAN, 0.3, NAN, NAN]),
        ([NAN, NAN, NAN, 0.5, NAN, NAN, NAN], [NAN] * 7),
    ],
)
def test_the_fullest_sibling(values: list[float], others: list[float]) -> None:
    same(GROUP.most_of_others(lanes(values)), others)


@pytest.mark.parametrize(
    ("values", "least"),
    [
        ([0.9, 0.2, 0.4, 0.0, 0.1, 0.3, 0.7], [0.2, 0.2, 0.2, NAN, 0.1, 0.1, 0.7]),
        ([0.5, 0.5, 0.5, 0.1, 0.0, 0.0, 0.0], [0.5, 0.5, 0.5, NAN, 0.0, 0.0, 0.0]),
        # One that is not known may be the least.
        ([NAN, 0.2, 0.4, 0.5, 0.1, NAN, NAN], [NAN] * 7),
    ],
)
def test_the_least_of_all(values: list[float], least: list[float]) -> None:
    same(GROUP.least(lanes(values)), least)


def test_the_average_is_weighted_and_of_what_is_known() -> None:
    values = lanes([0.1, 0.4, NAN, 0.9, NAN, NAN, 0.5])
    weights = lanes([1.0, 3.0, 9.0, 9.0, 1.0, 1.0, 0.0])
    with np.errstate(invalid="ignore"):
        found = GROUP.average(values, weights)
    np.testing.assert_allclose(found[0, :3], (0.1 + 3 * 0.4) / 4, rtol=1e-6)
    # Nothing known, and nothing that weighs, have no average.
    assert np.isnan(found[0, 3:]).all()


def test_an_unknown_weight_weighs_nothing() -> None:
    found = GROUP.average(lanes([0.1, 0.4, 0.7, 0, 1, 1, 1]), lanes([1, NAN, NAN, 1, 1, 1, 1]))
    np.testing.assert_allclose(found[0, :3], 0.1, rtol=1e-6)


def test_each_priority_is_reduced_by_itself() -> None:
    values = lanes([0.9, 0.2, 0.4, 0.0, 0.1, 0.3, 0.7], [0.1, 0.8, 0.4, 0.0, 0.3, 0.1, 0.7])
    same(
        GROUP.least(values),
        [0.2, 0.2, 0.2, NAN, 0.1, 0.1, 0.7],
        [0.1, 0.1, 0.1, NAN, 0.1, 0.1, 0.7],
    )
    same(
        GROUP.most_of_others(values),
        [0.4, 0.9, 0.9, NAN, 0.3, 0.1, NAN],
        [0.8, 0.4, 0.8, NAN, 0.1, 0.3, NAN],
    )


@pytest.mark.parametrize("shape", [(0, 7), (2, 0)])
def test_without_lanes_or_rows_there_is_nothing_to_say(shape: tuple[int, int]) -> None:
    empty = np.zeros(shape, dtype=np.float32)
    group = Group(MEMBER[: shape[1]], NUMBER[: shape[1]], 3 if shape[1] else 0)
    for found in (group.least(empty), group.most_of_others(empty), group.average(empty, empty)):
        assert found.shape == shape


def test_a_device_of_which_nothing_belongs_is_unknown() -> None:
    group = Group(np.zeros(7, dtype=np.bool_), NUMBER, 3)
    values = np.ones((1, 7), dtype=np.float32)
    with np.errstate(invalid="ignore"):
        for found in (group.least(values), group.most_of_others(values)):
            assert np.isnan(found).all()
        assert np.isnan(group.average(values, values)).all()


def test_the_order_of_ports_does_not_matter() -> None:
    seed = np.random.default_rng(7)
    values = seed.random((2, 7)).astype(np.float32)
    values[0, 2] = np.nan
    order = seed.permutation(7)
    mixed = Group(MEMBER[order], NUMBER[order], 3)
    with np.errstate(invalid="ignore"):
        for name in ("least", "most_of_others"):
            np.testing.assert_array_equal(
                getattr(mixed, name)(values[:, order]), getattr(GROUP, name)(values)[:, order]
            )
        np.testing.assert_allclose(
            mixed.average(values[:, order], values[:, order]),
            GROUP.average(values, values)[:, order],
            rtol=1e-6,
        )
