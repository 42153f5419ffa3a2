"""Search the logs and the database of a service for the secrets that it creates or receives."""

import base64
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from rolecall.core.postgres import BIN, _Server
from tests.cli.commands import Running, a_service, rolecall

PASSWORD = "correct horse battery staple"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with a_service(tmp_path / "here", "--workers", "1", ROLECALL_WEBHOOK_ALLOW="127.0.0.0/8") as running:
        yield running


def a_link(service: Running) -> str:
    return rolecall("admin", "create", "ada@example.com", "--data-dir", service.data_dir).stdout.split()[-1]


def live(service: Running) -> dict[str, str]:
    """Use tokens, webhook secrets, links and a password, both valid and invalid ones; return the secrets by name."""
    token = rolecall(
        "token", "create", "t", "--scope", "webhooks:manage", "--scope", "tokens:manage", "--data-dir", service.data_dir
    ).stdout.strip()
    used, left = a_link(service), a_link(service)
    with httpx2.Client(base_url=service.url, headers={"Authorization": f"Bearer {token}"}) as client:
        body = {"name": "x", "url": "http://127.0.0.1:9/in", "events": ["AccessRequestCreated"]}
        hook = client.post("/api/webhooks", json=body).json()
        client.post(f"/api/webhooks/{hook['id']}/test")
        rotated = client.post(f"/api/webhooks/{hook['id']}/rotate-secret").json()
        second = client.post("/api/tokens", json={"name": "second", "scopes": ["tokens:manage"]}).json()
        client.get("/api/identities", headers={"Authorization": f"Bearer {second['secret']}x"})
        client.post("/api/tokens", json={"name": second["secret"], "scopes": second["secret"]})
    with httpx2.Client(base_url=service.url, headers={"Origin": service.url}) as person:
        person.get(left)
        person.post(used)
        session = person.cookies["rolecall"]
        person.post("/account", data={"password": PASSWORD})
        person.post("/sign-in", data={"email": "ada@example.com", "password": f"{PASSWORD}!"})
        person.get("/", headers={"Cookie": f"rolecall={session}x"})
    return {
        "token": token, "second token": second["secret"], "hook": hook["secret"], "rotated": rotated["secret"],
        "used link": used.rpartition("/")[2], "link": left.rpartition("/")[2], "session": session,
        "password": PASSWORD, "key": (service.data_dir / "secret.key").read_text().strip(),
    }  # fmt: skip


def written(service: Running) -> bytes:
    url = _Server(service.data_dir).url
    dump = subprocess.run([BIN / "pg_dump", "--data-only", url], capture_output=True, check=True).stdout
    logs = [service.log, service.data_dir / "postgres" / "server.log"]
    return dump + b"".join(log.read_bytes() for log in logs)


def forms(secret: str) -> Iterator[bytes]:
    """Yield the secret as it is, and as a database or a log might encode it."""
    plain = secret.removeprefix("whsec_").encode()
    yield from (plain, plain.hex().encode(), base64.b64encode(plain))
    if secret.startswith("whsec_"):
        yield base64.b64decode(plain).hex().encode()


def test_no_secret_appears_in_logs_or_database(service: Running) -> None:
    secrets = live(service)

    found = written(service)

    assert all(len(secret) > 20 for secret in secrets.values()), secrets
    assert b"request" in found
    assert b"AccessRequestCreated" in found
    assert [name for name, secret in secrets.items() if any(form in found for form in forms(secret))] == []
    mode = os.stat(service.data_dir / "secret.key").st_mode
    assert mode & 0o077 == 0
