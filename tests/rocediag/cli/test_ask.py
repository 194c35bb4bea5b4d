import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from roce.errors import ConfigError, DataError, Unreachable
from rocediag.cli.ask import Daemon, configured_store
from tests.programs import free_port


class Answer(BaseHTTPRequestHandler):
    """Something that listens, and is no daemon of ours."""

    def do_GET(self) -> None:
        if self.path.startswith("/cut"):
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"short\n")
        elif self.path.startswith("/api/v1/findings"):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>hello</html>")
        else:
            self.send_error(418)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def other() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_what_is_no_daemon_is_told_apart_from_none(other: str) -> None:
    with pytest.raises(DataError, match="is no rocediag"):
        Daemon(other).findings(None)
    with pytest.raises(Unreachable, match="answers 418"):
        Daemon(other).get("/api/v1/status")
    with pytest.raises(Unreachable, match="no daemon answers"):
        Daemon(other).get("/cut")
    with Daemon(other).stream("/cut", 1.0) as lines:
        assert list(lines) == [b"short\n"]
    with pytest.raises(Unreachable, match="Connection refused"):
        Daemon(f"http://127.0.0.1:{free_port()}").get("/healthz")


def test_a_proxy_of_the_environment_is_not_for_the_daemon(
    other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(Unreachable, match="answers 418"):
        Daemon(other).get("/")


@pytest.mark.parametrize("url", ["127.0.0.1:9946", "http://[", "http://h:99999", "http://h:0"])
def test_what_is_no_address_is_a_mistake_of_who_typed_it(url: str) -> None:
    with pytest.raises(ConfigError, match="expected http://HOST:PORT"):
        Daemon(url)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ('[store]\nurl = "sqlite:////x.db"\n', "sqlite:////x.db"),
        ('[store]\nurl = "sqlite:///x.db"\n', "sqlite:///{}/x.db"),
        (f"a = {'[' * 9999}", "sqlite:////var/lib/rocediag/findings.db"),
        ("[store]\nurl = 3\n", "sqlite:////var/lib/rocediag/findings.db"),
        ("[store", "sqlite:////var/lib/rocediag/findings.db"),
    ],
)
def test_the_store_of_this_machine_is_read_from_its_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, url: str
) -> None:
    path = tmp_path / "rocediag.toml"
    path.write_text(text)
    monkeypatch.setenv("ROCEDIAG_CONFIG", str(path))
    assert configured_store() == url.format(tmp_path)
    monkeypatch.setenv("ROCEDIAG_CONFIG", str(tmp_path / "gone"))
    assert configured_store() == "sqlite:////var/lib/rocediag/findings.db"
