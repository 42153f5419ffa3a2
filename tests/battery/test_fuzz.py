"""Send randomly malformed requests, forms and files; each must be accepted or rejected quickly."""

import asyncio
import io
import os
import random
import re
import resource
import socket
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx2
import pytest

from rolecall.application_imports.read import file_delta as deltas
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.sources import InputFile, InputGroup
from rolecall.applications.model import Content
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from rolecall.core.files import Store
from rolecall.core.ids import new_id
from tests.application_imports.read.test_broken_files import HEADER, row, xlsx
from tests.application_imports.test_malformed_forms import mangled
from tests.builders import an_application
from tests.figures import measured
from tests.listening import Api, an_api

CASES = int(os.environ.get("ROLECALL_FUZZ_CASES", "5000"))
SEED = int(os.environ.get("ROLECALL_FUZZ_SEED", str(time.time_ns())))
MOST_CPU_SECONDS = 1.0
PATIENCE_SECONDS = 1.0
DEEPEST = 5
IDLE = 2000
TICKS = os.sysconf("SC_CLK_TCK")
JSON = b'{"identity": {"firstName": "Ada", "lastName": "Byron", "customFields": [{"number": 1, "value": "x"}]}, '
TEXTS = [
    b"Username,Name,Active\nada,Ada,yes\nbob,\"Bob, B.\",no\n'x',y,1\n",
    b'Username;Email\r\n"a;b";c\r\n',
    "Username\tName\nadé\tÉlan\n".encode("utf-16"),
    b'{"Username": "ada", "Name": null}\n{"Username": "bob", "x": [1, 2.5, {"y": true}]}\n',
    b"Username|Last Login|Locked\nada|2026-01-01|N\n",
]


class Target:
    def __init__(self, api: Api, token: str, application: object, group: object) -> None:
        self.api = api
        self.head = f" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n".encode()
        self.application, self.group = application, group

    def request(self, dice: random.Random) -> bytes:
        """Return a request with a random fault in its line, headers or body."""
        get = [b"/api/identities?page=2", b"/api/access-requests?status=open&type=Add", b"/openapi.json", b"/sign-in"]
        body = JSON + b'"effectiveDate": "2035-01-01T00:00:00+02:00"}'
        posts = [b"/api/personnel-events/onboard", b"/api/application-imports/cancel", b"/api/webhooks", b"/api/tokens"]
        if dice.random() < 0.4:
            return mangled(b"GET " + dice.choice(get) + self.head + b"\r\n", dice)
        sent = mangled(body, dice) if dice.random() < 0.7 else body
        length = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(sent)
        whole = b"POST " + dice.choice(posts) + self.head + length + sent
        return whole if sent != body else mangled(whole, dice)

    def form(self, dice: random.Random) -> bytes:
        form = mangled(
            f'--x\r\nContent-Disposition: form-data; name="applicationId"\r\n\r\n{self.application}\r\n'
            f'--x\r\nContent-Disposition: form-data; name="{self.group}"; filename="users.csv"\r\n'
            "Content-Type: text/csv\r\n\r\nUsername\r\nada\r\n\r\n--x--\r\n".encode(),
            dice,
        )
        kind = b"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: %d\r\n\r\n" % len(form)
        return b"POST /api/application-imports/upload" + self.head + kind + form

    def answer(self, sent: bytes) -> str:
        """Return the status, `closed` if the connection was closed, or `waited for` if no response came in time."""
        with socket.create_connection(("127.0.0.1", self.api.port), timeout=PATIENCE_SECONDS) as connection:
            try:
                connection.sendall(sent)
                if is_cut_short(sent):
                    connection.shutdown(socket.SHUT_WR)
                received = connection.recv(65536)
            except TimeoutError:
                return "waited for"
            except OSError:
                return "closed"
        status = re.match(rb"HTTP/1.1 (\d+)", received)
        return status[1].decode() if status else "closed"

    def cpu_seconds(self) -> float:
        spent = Path(f"/proc/{self.api.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(spent[11]) + int(spent[12])) / TICKS


def is_cut_short(sent: bytes) -> bool:
    head, ended, body = sent.partition(b"\r\n\r\n")
    announced = re.search(rb"\ncontent-length: *(\d+)", head, re.IGNORECASE)
    return not ended or (announced is not None and int(announced[1]) > len(body))


class Files:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.group = InputGroup(new_id(), "Users", Content.USERS, {}, None, True)
        self.file = InputFile(new_id(), "users", b"", "file")

    def csv(self, dice: random.Random) -> bytes:
        return mangled(dice.choice(TEXTS), dice)

    def xlsx(self, dice: random.Random) -> bytes:
        """Return an XLSX file that is malformed as an archive, or inside a valid archive."""
        sheet = HEADER + row(2, "ada", "Ada") + row(3, "bob", '<c r="B3"><v>4.5</v></c>')
        if dice.random() < 0.3:
            return mangled(xlsx(sheet), dice)
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(xlsx(sheet))) as whole, zipfile.ZipFile(out, "w") as broken:
            chosen = dice.choice(whole.namelist())
            for name in whole.namelist():
                content = whole.read(name)
                broken.writestr(name, mangled(content, dice) if name == chosen else content)
        return out.getvalue()

    def answer(self, content: bytes) -> str:
        (self.folder / "file").write_bytes(content)
        try:
            deltas.read_whole(self.group, [self.file], Store(self.folder), ZoneInfo("UTC"), None)
        except BrokenFile:
            return "refused"
        return "read"


def fuzz(
    make: Callable[[random.Random], bytes],
    answer: Callable[[bytes], str],
    cpu: Callable[[], float],
    cases: int,
    dice: random.Random,
) -> tuple[Counter[str], float]:
    """Run the cases; return the count of each kind of response, and the highest CPU time of a single case."""
    answers, most = Counter[str](), 0.0
    for _ in range(cases):
        sent = make(dice)
        before = cpu()
        try:
            answers[answer(sent)] += 1
        except BaseException as fault:
            raise AssertionError(f"{fault!r} (seed {SEED}) for {sent!r}") from fault
        most = max(most, cpu() - before)
        assert most < MOST_CPU_SECONDS, sent
        assert answers["500"] == 0, sent
    return answers, most


def record_answers(what: str, answers: Counter[str], most: float | None = None) -> None:
    spoken = ", ".join(f"{n:,} {answer}" for answer, n in sorted(answers.items()) if n)
    measured(f"{answers.total():,} {what} ({spoken})" + ("" if most is None else f", at most {most:.2f} s CPU"))


@pytest.mark.timeout(900 + CASES // 20)
async def test_malformed_requests_never_cause_a_server_error(config: Config, db: Db, token: str) -> None:
    dice = random.Random(SEED)
    application = await an_application(db)
    group = await fetch_value(db, "SELECT id FROM file_groups WHERE name = 'Users'")
    async with an_api(config) as api:
        target = Target(api, token, application, group)
        for what, make, share in (("requests", target.request, 0.4), ("forms", target.form, 0.2)):
            answers, most = fuzz(make, target.answer, target.cpu_seconds, int(CASES * share), dice)
            record_answers(what, answers, most)
            assert len(answers) > 1
        assert not api.crashes(), api.crashes()[:3]


async def test_idle_connections_do_not_lock_out_other_clients(config: Config) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (IDLE + 1000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    async with an_api(config) as api, AsyncExitStack() as idle:
        for _ in range(IDLE):
            _, writer = await asyncio.open_connection("127.0.0.1", api.port)
            idle.callback(writer.close)
        started = time.monotonic()
        async with httpx2.AsyncClient(base_url=api.url, timeout=30) as client:
            assert (await client.get("/healthz")).status_code == 200
        took = time.monotonic() - started
    measured(f"{IDLE:,} idle connections: another is answered in {took:.2f} s")
    assert took < 10 * PATIENCE_SECONDS


ODD = [
    r'"\ud800"', "1e400", "-1", "0", "1.5", "9007199254740993", "1234567890123456789012345678901234567890", "[]", "{}",
    '[["a", 1, null, {}]]', "true", "null", r'"\u0000"', '""', '" "', f'"{"x" * 300_000}"', r'"\u202e\ufeff"',
    '"9999-12-31T23:59:59-14:00"', '"0001-01-01T00:00:00+14:00"', '"2026-02-30"', '{"a": {"b": [1]}}',
]  # fmt: skip
Place = tuple[str | int, ...]


def places(document: Any, schema: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the path of every field of a body, including fields nested up to `DEEPEST` levels."""
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for kind in ("anyOf", "allOf", "oneOf"):
        for other in schema.get(kind, ()):
            yield from places(document, other, place)
    inside = {**schema.get("properties", {}), **({0: schema["items"]} if "items" in schema else {})}
    for name, inner in inside.items() if len(place) < DEEPEST else ():
        yield (*place, name)
        yield from places(document, inner, (*place, name))


def body_with(place: Place, value: str) -> str:
    for name in reversed(place):
        value = f"[{value}]" if name == 0 else f'{{"{name}": {value}}}'
    return value


@pytest.mark.timeout(900 + CASES // 20)
async def test_odd_field_values_are_accepted_or_rejected_without_a_server_error(
    client: httpx2.AsyncClient, db: Db
) -> None:
    document = (await client.get("/openapi.json")).json()
    id = str(await an_application(db))
    tried = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if content := operation.get("requestBody", {}).get("content", {}).get("application/json"):
                tried += [(method, path, place) for place in places(document, content["schema"])]
    cases = [(*each, value) for each in dict.fromkeys(tried) for value in ODD]
    chosen = random.Random(SEED).sample(cases, min(CASES // 5, len(cases)))
    answers = Counter[str]()
    for method, path, place, value in chosen:
        sent = body_with(place, value).encode()
        headers = {"Content-Type": "application/json"}
        answer = await client.request(method, path.replace("{id}", id), content=sent, headers=headers)
        answers[str(answer.status_code)] += 1
        assert answer.status_code < 500, (method, path, sent[:200])
    record_answers("odd values in fields", answers)


@pytest.mark.timeout(900 + CASES // 20)
def test_malformed_files_are_imported_or_rejected_without_a_crash(tmp_path: Path) -> None:
    files, dice = Files(tmp_path), random.Random(SEED)
    for what, make, share in (("CSV files", files.csv, 0.2), ("XLSX files", files.xlsx, 0.2)):
        answers, most = fuzz(make, files.answer, time.process_time, int(CASES * share), dice)
        record_answers(what, answers, most)
        assert set(answers) == {"read", "refused"}
