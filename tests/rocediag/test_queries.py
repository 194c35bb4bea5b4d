import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from rocediag.queries import parameters, seconds_of


def test_known_parameters_are_given() -> None:
    request = make_mocked_request("GET", "/x?since=5")
    assert parameters(request, "since")["since"] == "5"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/x?y=1", "unknown parameter 'y': expected since"),
        ("/x?since=1&since=2", "since: given twice"),
    ],
)
def test_strange_and_doubled_ones_are_mistakes(path: str, told: str) -> None:
    with pytest.raises(web.HTTPBadRequest) as mistake:
        parameters(make_mocked_request("GET", path), "since")
    assert mistake.value.text == told


def test_seconds_are_above_zero_and_without_end_where_not_given() -> None:
    assert seconds_of("2.5", "since") == 2.5
    assert seconds_of(None, "since") == float("inf")
    for wrong in ("0", "-1", "nan", "x", ""):
        with pytest.raises(web.HTTPBadRequest):
            seconds_of(wrong, "since")
