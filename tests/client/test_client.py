"""Test the client against a service with two API processes, even while one of them restarts."""

import os
import signal
import threading
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest

from rolecall.client import AsyncClient, Client, Conflict, Invalid, NotAllowed, NotFound, Unavailable, calls
from tests.builders import CONNECTOR
from tests.cli.commands import Running, a_service, eventually, free_port, rolecall

SCOPES = (
    "applications:read", "config:manage", "imports:read", "imports:write", "identities:read", "tokens:manage",
    "personnel-events:read", "personnel-events:write",
)  # fmt: skip
TOMORROW = date.today() + timedelta(days=2)  # noqa: DTZ011
UNKNOWN = "0192e4a0-7c1e-7000-8000-000000000001"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with a_service(tmp_path_factory.mktemp("client") / "here", "--workers", "2") as running:
        yield running


@pytest.fixture(scope="module")
def token(service: Running) -> str:
    scopes = [word for scope in SCOPES for word in ("--scope", scope)]
    return rolecall("token", "create", "client", *scopes, "--data-dir", service.data_dir).stdout.strip()


@pytest.fixture
def client(service: Running, token: str) -> Iterator[Client]:
    with Client(service.url, token) as client:
        yield client


def test_errors_have_a_type_and_a_correlation_id_and_invalid_lists_problems(service: Running, client: Client) -> None:
    with pytest.raises(NotFound, match=f"Identity with id {UNKNOWN} not found") as unknown:
        client.send(calls.get_identity(UNKNOWN))
    with pytest.raises(Invalid) as invalid:
        client.send(calls.onboard(effective_date="soon", first_name="", department="x" * 200))
    with pytest.raises(NotAllowed), Client(service.url, "rct_wrong") as stranger:
        stranger.send(calls.get_settings())
    with pytest.raises(Unavailable), Client(f"http://127.0.0.1:{free_port()}", "t", patience=0.2) as nowhere:
        nowhere.send(calls.get_settings())

    assert {problem.field for problem in invalid.value.problems} == {
        "identity.firstName", "identity.lastName", "identity.department", "effectiveDate",
    }  # fmt: skip
    assert len(unknown.value.correlation_id) == len(invalid.value.correlation_id) == 32


def test_files_are_uploaded_by_file_group_name_and_the_import_is_watched(client: Client, tmp_path: Path) -> None:
    (tmp_path / "users.csv").write_text("Username,Name\n" + "".join(f"u{n},User {n}\n" for n in range(20_000)))
    (tmp_path / "groups.csv").write_text("Group\nadmins\n")
    application = client.send(calls.create_application("Payroll", connector=CONNECTOR))
    told: list[tuple[int, int]] = []

    run = client.upload(
        application.id,
        {"users": tmp_path / "users.csv", "Groups": str(tmp_path / "groups.csv")},
        progress=lambda sent, total: told.append((sent, total)),
    )
    seen = list(client.watch(run.id))

    assert seen[-1].status == "Finished"
    assert seen[-1].metrics
    assert (seen[-1].metrics.users.new, seen[-1].metrics.groups.new) == (20_000, 1)
    assert len(told) > 3
    assert told[-1] == (told[0][1], told[0][1])
    accounts = client.each(calls.list_accounts(application.id))
    assert next(accounts).username == "u0"
    with pytest.raises(Invalid) as invalid:
        client.upload(application.id, {"Uzers": tmp_path / "users.csv"})
    assert [problem.field for problem in invalid.value.problems] == ["Uzers"]
    with pytest.raises(Invalid, match="validation"):
        client.send(calls.cancel_import(run.id))
    with pytest.raises(Conflict):
        client.send(calls.continue_import(run.id))


def restarting(service: Running, killed: list[int], stop: threading.Event) -> None:
    """Kill one of the two API processes every second, unless it is still restarting."""
    while not stop.wait(1):
        _, *dies = sorted(service.children("rolecall api"))
        for process in dies:
            os.kill(process, signal.SIGKILL)
            killed.append(process)


def test_writes_happen_exactly_once_while_a_process_restarts(service: Running, token: str, client: Client) -> None:
    killed: list[int] = []
    stop = threading.Event()
    killer = threading.Thread(target=restarting, args=(service, killed, stop))
    made: list[int] = []

    killer.start()
    try:
        while len(killed) < 3 or len(made) < 20:
            onboarding = calls.onboard(effective_date=TOMORROW, first_name="Ada", last_name=f"Byron {len(made)}")
            with Client(service.url, token) as fresh:  # A new connection may reach either process.
                made.append(fresh.send(onboarding).number)
    finally:
        stop.set()
        killer.join()

    assert len(set(made)) == len(made)
    names = [person.last_name for person in client.each(calls.list_identities())]
    assert sorted(name for name in names if name.startswith("Byron")) == sorted(f"Byron {n}" for n in range(len(made)))


async def test_async_client_behaves_like_the_blocking_one(service: Running, token: str, tmp_path: Path) -> None:
    (tmp_path / "users.csv").write_text("Username\nada\n")
    async with AsyncClient(service.url, token) as client:
        application = await client.send(calls.create_application("Ledger", connector=CONNECTOR))
        run = await client.upload(application.id, {"Users": [tmp_path / "users.csv"]})
        first, *_ = service.children("rolecall api")
        os.kill(first, signal.SIGKILL)

        assert (await client.wait(run.id)).status == "Finished"
        assert [account.username async for account in client.each(calls.list_accounts(application.id))] == ["ada"]
        file = (await client.send(calls.get_import(run.id))).files[0]
        assert await client.send(calls.download_file(run.id, file.id)) == b"Username\nada\n"
        with pytest.raises(NotFound):
            await client.send(calls.get_application(UNKNOWN))
    eventually(service.answers)
