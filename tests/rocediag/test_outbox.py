from rocediag.outbox import Outbox


def waiting(box: Outbox) -> list[bytes]:
    found: list[bytes] = []
    while (payload := box.first()) is not None:
        found.append(payload)
        box.done(payload)
    return found


def test_what_was_put_first_comes_first_and_stays_until_it_is_done() -> None:
    box = Outbox(10, 1000)
    for payload in (b"one", b"two", b"three"):
        box.put(payload)
    assert box.first() == box.first() == b"one"
    assert (len(box), box.bytes, box.dropped) == (3, 11, 0)
    assert waiting(box) == [b"one", b"two", b"three"]
    assert (len(box), box.bytes, box.first()) == (0, 0, None)


def test_beyond_its_bounds_the_oldest_are_dropped_and_counted() -> None:
    box = Outbox(3, 1000)
    for n in range(5):
        box.put(bytes([n]))
    assert (len(box), box.dropped) == (3, 2)
    assert waiting(box) == [b"\2", b"\3", b"\4"]
    box = Outbox(100, 10)
    for n in range(5):
        box.put(bytes([n]) * 4)
    assert (len(box), box.bytes, box.dropped) == (2, 8, 3)
    box.put(b"x" * 11)
    assert (len(box), box.bytes, box.dropped) == (0, 0, 6)


def test_what_was_dropped_while_it_was_sent_takes_nothing_else_with_it() -> None:
    box = Outbox(2, 1000)
    box.put(b"a1")
    sending = box.first()
    assert sending is not None
    for payload in (b"b2", b"c3"):
        box.put(payload)
    box.done(sending)
    assert waiting(box) == [b"b2", b"c3"]
    assert box.dropped == 1
