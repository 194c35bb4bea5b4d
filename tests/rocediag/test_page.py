from roce.model import Place, Verdict
from rocediag.page import page
from tests.alerts.findings import STORM, finding

NOW = STORM.began_at + 90


def test_a_page_says_who_did_it_and_what_to_do() -> None:
    verdict = Verdict("faulty", 0.974, ("spine2: not polled",), None, None)
    text = page(verdict, [STORM], None, NOW)
    assert "<h1>faulty</h1>" in text
    assert "97% measured · spine2: not polled" in text
    assert (
        "<tr><td>warning</td><td>pause_storm</td><td>gpu03:mlx5_0/1</td><td>90 s</td>"
        "<td>gpu03 holds leaf1:Ethernet12 for 61 % of the time: reset the NIC of gpu03</td></tr>"
    ) in text


def test_before_the_first_verdict_it_is_unknown() -> None:
    text = page(None, [], "no sweep is done yet", NOW)
    assert "<h1>unknown</h1>" in text
    assert "not ready: no sweep is done yet" in text
    assert "no open findings" in text


def test_the_oldest_comes_first_and_a_root_may_be_missing() -> None:
    older = finding(id="older", began_at=1.0, root=None, summary="no root", remedy=())
    text = page(None, [STORM, older, finding(root=Place("leaf1"))], None, NOW)
    assert text.index("no root") < text.index("gpu03:mlx5_0/1")
    assert "<td></td>" in text
    assert "<td>leaf1</td>" in text


def test_names_from_devices_are_text_and_no_markup() -> None:
    evil = "<script>alert(1)</script>{verdict}"
    verdict = Verdict(evil, 1.0, (evil,), None, None)
    text = page(verdict, [finding(rule=evil, root=Place(evil, evil), summary=evil)], evil, NOW)
    assert "<script" not in text
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;{verdict}") == 8
