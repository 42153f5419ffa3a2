"""Test the relay script from the documentation, unchanged, with a fake issue tracker."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.commands import environment, eventually, free_port
from tests.client.test_webhooks import BODY, SECRET, signed_now

PAGE = Path(__file__).parents[2] / "docs" / "webhook-recipes.md"


class Tracker(ThreadingHTTPServer):
    """Respond as Jira and ServiceNow do, and receive the callback."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, bytes]] = []
        super().__init__(("127.0.0.1", 0), _Answering)
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Answering(BaseHTTPRequestHandler):
    server: Tracker

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.path, self.headers.get("Authorization", ""), body))
        self.send_response(201)
        self.end_headers()
        self.wfile.write(b'{"key": "ACC-7", "result": {"number": "INC0010007"}}')

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def tracker() -> Iterator[Tracker]:
    with Tracker() as server:
        threading.Thread(target=server.serve_forever).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize(
    ("name", "path", "ticket"),
    [("jira", "/rest/api/2/issue", "ACC-7"), ("servicenow", "/api/now/table/incident", "INC0010007")],
)
def test_relay_creates_one_ticket_per_request(tracker: Tracker, name: str, path: str, ticket: str) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    port = free_port()
    settings = {"TRACKER": name, "TRACKER_URL": tracker.url, "TRACKER_USER": "u", "TRACKER_PASSWORD": "p"}
    settings |= {"JIRA_PROJECT": "ACC", "WEBHOOK_SECRET": SECRET, "PORT": str(port)}
    body: dict[str, Any] = json.loads(BODY) | {"callback": f"{tracker.url}/callback"}
    content = json.dumps(body).encode()
    relay = subprocess.Popen([sys.executable, "-c", code], env=environment(**settings), stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: _status(port, content, {}) == 401)
        answers = [_status(port, content, signed_now(content)) for _ in range(2)]
    finally:
        relay.kill()
        relay.wait()

    assert answers == [204, 204]
    assert [(where, text) for where, _, text in tracker.seen][1:] == [("/callback", f"Ticket {ticket}".encode())]
    where, authorization, sent = tracker.seen[0]
    assert (where, authorization) == (path, "Basic dTpw")
    assert body["event"]["request"]["target"]["name"] in sent.decode()


def _status(port: int, content: bytes, headers: dict[str, str]) -> int:
    try:
        return httpx2.post(f"http://127.0.0.1:{port}/", content=content, headers=headers).status_code
    except httpx2.TransportError:
        return 0
