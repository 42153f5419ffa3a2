import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.cli.commands import Running, a_service, eventually, free_port, rolecall


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with a_service(tmp_path_factory.mktemp("serve") / "here", "--workers", "1") as running:
        yield running


@pytest.fixture(scope="module")
def token(service: Running) -> str:
    return rolecall("token", "create", "tests", "--data-dir", service.data_dir).stdout.strip()


def postmaster(service: Running) -> int | None:
    try:
        return int((service.data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
    except (FileNotFoundError, IndexError):
        return None


def test_token_created_by_command_works_with_the_running_service(service: Running, token: str) -> None:
    answer = httpx2.get(f"{service.url}/api/identities", headers={"Authorization": f"Bearer {token}"})

    assert answer.status_code == 200


def test_second_server_on_the_same_folder_is_refused(service: Running) -> None:
    second = rolecall("serve", "--data-dir", service.data_dir, "--port", free_port())

    assert second.returncode == 1
    assert second.stderr == (
        f"Error: Another server uses the data folder {service.data_dir}"
        f" (process {service.process.pid}, {service.url});"
        " stop it, or choose another folder with --data-dir\n"
    )


def test_port_in_use_is_refused(service: Running, tmp_path: Path) -> None:
    second = rolecall("serve", "--data-dir", tmp_path, "--port", service.port)

    assert second.returncode == 1
    assert second.stderr == f"Error: Port {service.port} on 127.0.0.1 is in use; choose another with --port\n"
    assert not (tmp_path / "postgres").exists()


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_address_of_another_machine_is_refused(tmp_path: Path, host: str) -> None:
    refused = rolecall("serve", "--data-dir", tmp_path, "--host", host, "--port", free_port())

    assert refused.returncode == 1
    assert refused.stderr == f"Error: {host} is not an address of this machine; choose another with --host\n"


def test_folder_that_is_not_writable_is_refused() -> None:
    refused = rolecall("serve", "--data-dir", "/dev/null/here", "--port", free_port())

    assert refused.returncode == 1
    assert refused.stderr == "Error: The data folder /dev/null/here cannot be written: Not a directory\n"


def test_each_invalid_setting_is_reported_on_its_own_line(tmp_path: Path) -> None:
    refused = rolecall(
        "serve",
        "--data-dir",
        tmp_path / "here",
        ROLECALL_TIMZEONE="UTC",
        ROLECALL_TIMEZONE="Mars",
        ROLECALL_POOL_SIZE="0",
    )

    assert refused.returncode == 1
    assert [line.split(" ")[1].rstrip(":") for line in refused.stderr.splitlines()] == [
        "ROLECALL_TIMZEONE", "ROLECALL_TIMEZONE", "ROLECALL_POOL_SIZE",
    ]  # fmt: skip
    assert all(line.startswith("Error: ") for line in refused.stderr.splitlines())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["postgresql://[me:hunter2@db", "postgresql://me:hunter2@127.0.0.1:port/x"])
def test_invalid_database_url_is_reported_without_printing_it(tmp_path: Path, url: str) -> None:
    refused = rolecall("serve", "--data-dir", tmp_path, "--port", free_port(), ROLECALL_DATABASE_URL=url)

    assert (refused.returncode, refused.stderr.count("\n"), "hunter2" in refused.stderr) == (1, 1, False)
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("role", ["api", "worker"])
def test_killed_process_is_restarted(service: Running, role: str) -> None:
    (killed,) = service.children(f"rolecall {role}")

    os.kill(killed, signal.SIGKILL)

    eventually(lambda: service.children(f"rolecall {role}") not in ([], [killed]))
    eventually(service.answers)


def test_killed_database_is_restarted_without_data_loss(service: Running, token: str) -> None:
    killed = postmaster(service)
    assert killed

    os.kill(killed, signal.SIGKILL)

    eventually(lambda: postmaster(service) not in (None, killed))
    eventually(service.answers)
    answer = httpx2.get(f"{service.url}/api/identities", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200


def test_request_in_progress_is_answered_before_shutdown(tmp_path: Path) -> None:
    with a_service(tmp_path / "here", "--workers", "1") as service:
        token = rolecall("token", "create", "t", "--scope", "tokens:manage", "--data-dir", service.data_dir).stdout
        body = b'{"name": "second", "scopes": ["tokens:manage"]}'
        head = (
            f"POST /api/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token.strip()}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", service.port)) as slow:
            slow.sendall(head.encode())
            assert slow.recv(100).startswith(b"HTTP/1.1 100")  # The application has started to read the body.
            service.process.send_signal(signal.SIGTERM)
            eventually(lambda: not service.answers("/healthz"))
            slow.sendall(body)
            assert slow.recv(100).startswith(b"HTTP/1.1 201")
        assert service.process.wait(30) == 0
    pid_file = service.data_dir / "postgres" / "postmaster.pid"
    assert not pid_file.exists()


def test_processes_do_not_outlive_a_killed_supervisor(tmp_path: Path) -> None:
    with a_service(tmp_path / "here", "--workers", "2") as service:
        children = service.children("rolecall (api|worker)")
        assert len(children) == 3

        service.stop(signal.SIGKILL)

        eventually(lambda: not any(map(is_alive, children)))
        # The killed supervisor could not stop the database. The next command that uses the database stops it.
        assert rolecall("token", "list", "--data-dir", service.data_dir).returncode == 0
        assert not (service.data_dir / "postgres" / "postmaster.pid").exists()


def is_alive(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return state.strip() not in ("", "Z")
