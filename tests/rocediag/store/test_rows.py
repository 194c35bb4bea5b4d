import msgspec
import pytest

from roce.model import Place, Verdict
from rocediag.store.rows import (
    DaemonState,
    daemon_row,
    finding_row,
    key,
    read_daemon,
    read_finding,
    settle,
)
from tests.alerts.findings import STORM, finding, resolved


def test_a_finding_comes_back_as_it_was_with_exact_integers() -> None:
    assert read_finding(finding_row(STORM)["body"]) == STORM


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        (Place("gpu03", "mlx5_0/1", 3), ("pause_storm", "gpu03", "mlx5_0/1", 3)),
        (Place("gpu03"), ("pause_storm", "gpu03", "", -1)),
        (None, ("pause_storm", "", "", -1)),
        (Place("a\0b", "c\0", 0), ("pause_storm", "ab", "c", 0)),
    ],
)
def test_what_has_no_root_still_has_a_key(
    root: Place | None, expected: tuple[str, str, str, int]
) -> None:
    assert key(finding(root=root)) == expected


@pytest.mark.parametrize("changes", [{"confidence": float("nan")}, {"summary": "\ud800"}])
def test_what_could_not_be_read_back_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        finding_row(finding(**changes))


def test_the_daemons_state_comes_back() -> None:
    verdict = Verdict("unknown", 0.5, ("spine2: not polled",), 1.0, None)
    state = DaemonState(started_at=1.5, seen_at=2.5, version="1", verdict=verdict, sample_at=2.0)
    assert read_daemon(daemon_row(state)["body"]) == state


def test_the_later_of_two_open_with_one_key_closes_the_earlier() -> None:
    later = finding(id="new", began_at=STORM.began_at + 100)
    closed = msgspec.structs.replace(resolved(STORM, at=later.began_at), superseded_by="new")
    assert settle([later], [STORM]) == [later, closed]
    assert settle([STORM, later], []) == [closed, later]


def test_a_store_that_missed_the_end_never_closes_before_the_beginning() -> None:
    earlier = finding(id="new", began_at=STORM.began_at - 5)
    assert settle([earlier], [STORM])[1].resolved_at == STORM.began_at


def test_other_keys_ended_ones_and_itself_disturb_nothing() -> None:
    other = finding(id="other", root=Place("gpu04", "mlx5_0/1", 3))
    assert settle([STORM], [STORM, other]) == [STORM]
    assert settle([resolved(STORM), finding(id="new")], [STORM]) == [
        resolved(STORM),
        finding(id="new"),
    ]


def test_of_one_id_given_twice_the_last_is_written() -> None:
    assert settle([STORM, resolved(STORM)], []) == [resolved(STORM)]
