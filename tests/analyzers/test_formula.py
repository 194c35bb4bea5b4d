import pytest

from analyzers.formula import filled, keyed, names
from roce.model import Mode, Site

ROW = "held ≥ {storm:%} of the time on {fabric.lossless}, and {floor} packets"


def test_a_condition_says_what_it_speaks_of() -> None:
    assert names(ROW) == {"storm", "fabric.lossless", "floor"}
    assert names("went down") == set()


def test_a_page_for_everybody_names_the_keys() -> None:
    assert keyed(ROW) == "held ≥ `storm` of the time on `fabric.lossless`, and `floor` packets"


def test_a_site_has_its_own_numbers() -> None:
    site = Site(lossless=(4, 3), mode=Mode.PFC_ONLY)
    values = {"storm": 0.5, "floor": 1000.0}
    assert filled(ROW, values, site) == "held ≥ 50 % of the time on 3, 4, and 1000 packets"
    assert filled("mode {fabric.mode}", {}, site) == "mode pfc-only"
    assert filled("on {fabric.lossless}", {}, Site(lossless=())) == "on none"


@pytest.mark.parametrize(
    ("condition", "value", "text"),
    [
        ("{x:%}", 0.1, "10 %"),
        ("{x:%}", 1, "100 %"),
        ("{x:%}", 0.001, "0.1 %"),
        ("{x:%}", 0.025, "2.5 %"),
        ("{x:kB}", 250e3, "250 kB"),
        ("{x}", 1e-7, "1e-07"),
        ("{x}", 3, "3"),
        ("{x:kB}", "from a newer daemon", "from a newer daemon"),
    ],
)
def test_numbers_have_their_unit(condition: str, value: float | str, text: str) -> None:
    assert filled(condition, {"x": value}, Site()) == text
