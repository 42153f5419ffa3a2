"""Test the errors of downloads: the service does not respond, is unavailable, or stops before the end of the file."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rolecall.client import AsyncClient, Client, Unavailable, calls
from tests.cli.commands import free_port

OUTAGE = b'{"error": "unavailable", "message": "The database is unreachable"}'


class _Broken(BaseHTTPRequestHandler):
    """Answer reports with 503, and begin to send any other file without completing it."""

    def do_GET(self) -> None:
        content, length = (OUTAGE, len(OUTAGE)) if "reports" in self.path else (b"Id\n", 100)
        self.send_response(503 if "reports" in self.path else 200)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Broken) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


async def failures(url: str, *, is_report: bool) -> list[str]:
    """Return the messages of both clients for a download that fails."""
    report, people = calls.run_report("7", format="csv"), calls.list_identities()
    with pytest.raises(Unavailable) as blocking, Client(url, "t") as client:
        list(client.stream(report) if is_report else client.export(people, "csv"))
    async with AsyncClient(url, "t") as other:
        pieces = other.stream(report) if is_report else other.export(people, "csv")
        with pytest.raises(Unavailable) as waiting:
            _ = [piece async for piece in pieces]
    return [str(blocking.value), str(waiting.value)]


async def test_outage_during_a_download_is_unavailable_like_in_any_call(url: str) -> None:
    assert await failures(url, is_report=True) == ["The database is unreachable"] * 2


async def test_download_without_a_connection_says_that_the_service_is_unreachable() -> None:
    for is_report in (True, False):
        for message in await failures(f"http://127.0.0.1:{free_port()}", is_report=is_report):
            assert message.startswith("The service is unreachable: ")


async def test_download_that_ends_too_early_says_so(url: str) -> None:
    for message in await failures(url, is_report=False):
        assert message.startswith("The download was interrupted: ")
