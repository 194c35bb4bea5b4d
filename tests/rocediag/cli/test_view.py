import msgspec

from roce.model import Finding, Verdict
from rocediag.cli.view import FindingView, StatusView, VerdictView
from rocediag.http import Status
from tests.rocediag.cli.conftest import OPEN


def names(kind: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(kind)}


def test_a_view_asks_for_nothing_that_the_daemon_does_not_give() -> None:
    assert names(FindingView) <= names(Finding)
    assert names(VerdictView) <= names(Verdict)
    assert names(StatusView) <= names(Status)


def test_what_a_newer_daemon_adds_is_passed_over() -> None:
    told = msgspec.to_builtins(OPEN) | {"new": {"a": 1}}
    seen = msgspec.convert(told, FindingView)
    assert str(seen.root) == "gpu03:mlx5_0/1 priority 3"
    assert seen.is_open
    assert seen.is_loud
