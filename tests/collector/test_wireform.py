import subprocess
import sys

import msgspec

from collector.wireform import Wire, pack, pack_facts, reason
from roce.model import DeviceFacts, Facts, PortFacts


def test_messagepack_holds_the_same_objects_as_json() -> None:
    wire = Wire(at=1.0, device="gpu03", ports=["a"], values={"tx_bytes": [2**64 - 1]}, seq=7)
    packed = msgspec.msgpack.decode(pack(wire))
    assert packed == msgspec.json.decode(msgspec.json.encode(wire))
    assert packed == {
        "at": 1.0,
        "device": "gpu03",
        "ports": ["a"],
        "values": {"tx_bytes": [2**64 - 1]},
        "seq": 7,
    }


def test_keys_of_packed_facts_are_texts_as_in_json() -> None:
    facts = Facts(1.0, "gpu03", DeviceFacts(ports={"a": PortFacts(dscp_to_priority={26: 3})}))
    told = msgspec.msgpack.decode(pack_facts(facts))
    assert told.pop("v") == 1
    assert told == msgspec.json.decode(msgspec.json.encode(facts))


def test_a_reason_is_one_short_line() -> None:
    assert reason(ValueError("a\nb" + "x" * 500)).startswith("a b")
    assert len(reason(ValueError("x" * 500))) == 200


def test_the_form_knows_no_numpy() -> None:
    code = "import sys, collector.wireform, collector.unwrap; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
