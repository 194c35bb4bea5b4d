import subprocess
import sys

from collector.secret import Secret


def test_a_secret_prints_itself_nowhere() -> None:
    secret = Secret("tops3cret")
    assert "tops3cret" not in f"{secret!r} {secret} {[secret]}"
    assert secret.reveal() == b"tops3cret"


def test_secrets_are_compared_by_what_they_are() -> None:
    assert Secret("a") == Secret(b"a") != Secret("b")
    assert len({Secret("a"), Secret("a")}) == 1
    assert Secret("a") != "a"


def test_it_brings_neither_numpy_nor_ciphers_along() -> None:
    code = (
        "import sys, collector.secret; sys.exit(bool({'numpy', 'cryptography'} & {*sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
