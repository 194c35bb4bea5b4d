import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.snmp import ber
from collector.snmp.ber import BerError, decode_oid, encode_oid, number, parse_oid
from roce.errors import DataError

ARC = st.integers(0, 2**32 - 1)
OIDS = st.one_of(
    st.tuples(st.integers(0, 1), st.integers(0, 39)), st.tuples(st.just(2), st.integers(0, 2**31))
).flatmap(lambda two: st.lists(ARC, max_size=126).map(lambda rest: (*two, *rest)))


@given(OIDS)
def test_a_name_survives_the_wire(oid: tuple[int, ...]) -> None:
    assert decode_oid(encode_oid(oid)) == oid


@pytest.mark.parametrize(
    ("text", "octets"),
    [
        ("1.3.6.1.2.1.1.3.0", "2b06010201010300"),
        (".1.3.6.1", "2b0601"),
        ("2.999.3", "883703"),  # the example of X.690, 8.19.5
        ("1.3.4294967295", "2b8fffffff7f"),
        ("0.0", "00"),
    ],
)
def test_names_are_encoded_as_x690_says(text: str, octets: str) -> None:
    assert encode_oid(parse_oid(text)).hex() == octets


@pytest.mark.parametrize(
    "text",
    ["1", "3.1", "1.40", "0.40.1", "1.3.4294967296", "1.3.-1", "1.3" + ".1" * 127, "2.4294967295"],
)
def test_names_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(DataError):
        encode_oid(parse_oid(text))


@pytest.mark.parametrize("text", ["", "1..3", "ifName.1", "1.3."])
def test_what_is_no_name_says_so(text: str) -> None:
    with pytest.raises(DataError, match="no object identifier"):
        parse_oid(text)


@pytest.mark.parametrize("octets", ["", "2b86", "2b9080808000", "2b" + "01" * 127])
def test_malformed_names_are_refused(octets: str) -> None:
    with pytest.raises(BerError):
        decode_oid(bytes.fromhex(octets))


def test_the_longest_name_is_read() -> None:
    assert len(decode_oid(bytes.fromhex("2b" + "01" * 126))) == 128


@pytest.mark.parametrize(
    ("tag", "octets", "value"),
    [
        (ber.COUNTER64, "ffffffffffffffff", 2**64 - 1),  # without its leading zero
        (ber.COUNTER64, "00ffffffffffffffff", 2**64 - 1),
        (ber.COUNTER64, "00" * 9, 0),
        (ber.COUNTER64, "01ffffffffffffffff", None),
        (ber.COUNTER64, "0000ffffffffffffffff", None),
        (ber.COUNTER64, "ff", None),  # 255, or 2^64-1 cut by sign extension
        (ber.COUNTER64, "", 0),
        (ber.COUNTER32, "ffffffff", 2**32 - 1),
        (ber.COUNTER32, "00ffffffff", 2**32 - 1),
        (ber.COUNTER32, "0100000000", None),
        (ber.TIME_TICKS, "7f", 127),
        (ber.GAUGE32, "80", None),
        (ber.INTEGER, "ff", -1),
        (ber.INTEGER, "80000000", -(2**31)),
        (ber.INTEGER, "7fffffff", 2**31 - 1),
        (ber.INTEGER, "007fffffff", None),
        (ber.INTEGER, "", 0),
    ],
)
def test_integers_are_exact_or_refused(tag: int, octets: str, value: int | None) -> None:
    assert number(tag, bytes.fromhex(octets)) == value


@pytest.mark.parametrize(
    ("value", "octets"),
    [(0, "020100"), (127, "02017f"), (128, "02020080"), (-128, "020180"), (-129, "0202ff7f")],
)
def test_integers_take_as_few_octets_as_can_be(value: int, octets: str) -> None:
    assert ber.integer(value).hex() == octets


@given(st.integers(-(2**31), 2**31 - 1))
def test_integers_survive_the_wire(value: int) -> None:
    data = ber.integer(value)
    assert ber.small(data, 0, len(data)) == (value, len(data))


@given(st.integers(0, 70_000))
def test_lengths_survive_the_wire(size: int) -> None:
    data = ber.tlv(ber.STRING, bytes(size))
    assert ber.head(data, 0) == (ber.STRING, len(data) - size, len(data))


@pytest.mark.parametrize("octets", ["3080", "3085000000000100", "3082"])
def test_lengths_that_snmp_does_not_allow_are_refused(octets: str) -> None:
    with pytest.raises((BerError, IndexError)):
        ber.head(bytes.fromhex(octets), 0)


def test_long_forms_of_short_lengths_are_read() -> None:
    assert ber.head(bytes.fromhex("308200020500"), 0) == (0x30, 4, 6)


def test_what_runs_over_its_frame_is_refused() -> None:
    with pytest.raises(BerError):
        ber.expect(ber.STRING, bytes.fromhex("0404616263"), 0, 5)
    with pytest.raises(BerError):
        ber.expect(ber.STRING, bytes.fromhex("0201ff"), 0, 3)
    with pytest.raises(BerError):
        ber.small(bytes.fromhex("02050000000001"), 0, 7)
