"""Run clients against a failing service, and record which writes were acknowledged and which are uncertain."""

import asyncio
import hashlib
import itertools
import random
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID, uuid4

import httpx2

from rolecall.console import actions as console
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.files import Store
from tests.access_requests.test_concurrency import ENTRIES, status_after
from tests.access_requests.walking import Cast, a_cast, body_of, detail_of, events_of
from tests.battery.service import Whole, a_whole_service, off_the_loop
from tests.builders import an_application, facts
from tests.personnel_events.bodies import day
from tests.webhooks.receivers import Receiver, receiving
from tests.webhooks.sending import a_hook

REQUESTS = "/api/access-requests"
# A schedule that does not fire during the run.
NOT_SOON = f"0 {(datetime.now(UTC).hour + 12) % 24} * * *"
NEXT = {"Pending": "approve", "Open": "resolve", "Resolved": "verify"}
EXPORT = b"Username\nada\n"
# HTTP statuses after which clients try again.
RETRYABLE = (502, 503, 504)
# For each kind of client: how many there are, and the seconds that they pause between two actions.
SHIFTS: dict[str, tuple[int, float]] = {
    "hire": (2, 0.1), "decide": (2, 0.1), "comment": (1, 0.3), "upload": (1, 0.5), "stage": (1, 1.0),
}  # fmt: skip


class Service(Protocol):
    url: str
    store: Store

    def client(self) -> AbstractAsyncContextManager[httpx2.AsyncClient]: ...
    def db(self) -> AbstractAsyncContextManager[Db]: ...


S = TypeVar("S", bound=Service)


class Crew(Generic[S]):
    def __init__(self, service: S, client: httpx2.AsyncClient, receiver: Receiver) -> None:
        self.service, self.client, self.receiver = service, client, receiver
        self.numbers, self.uploads = itertools.count(), itertools.count()
        self.acknowledged: dict[str, set[str]] = defaultdict(set)
        self.unknown: dict[str, set[str]] = defaultdict(set)
        self.decisions: dict[str, list[str]] = {}
        self.files: dict[str, bytes] = {}
        self.outages = Counter[int]()
        self.figures = ""

    async def set_up(self, db: Db, export: str, content: bytes) -> None:
        """Create the records that the clients use; imports read the file at `export`, which contains `content`."""
        self.cast: Cast = await a_cast(db)
        owner = {"ownerId": self.cast.grace, "provisionerIds": [self.cast.peter], "priority": "High"}
        self.crm = await an_application(db, "CRM", **owner)
        self.payroll = await an_application(db, "Payroll", guard={"minCount": 1_000_000})
        self.users: UUID = await fetch_value(
            db,
            """SELECT g.id FROM file_groups g JOIN connectors c ON c.id = g.connector_id
               WHERE c.application_id = %(id)s AND g.name = 'Users'""",
            id=self.payroll,
        )
        await a_hook(self.client, self.receiver.url)
        # There is no mail server, so keep mails in the outbox; the worker handles them as usual except for the sending.
        await execute(db, "UPDATE identities SET email_address = lower(first_name) || '@example.com'")
        kept = {"email": {"transport": "Outbox"}}
        assert (await self.client.patch("/api/notification-settings", json=kept)).status_code == 200
        self.export, self.exported = export, hashlib.sha256(content).digest()
        link = await console.create_administrator(db, "ada.admin@example.com", facts())
        self.person = httpx2.AsyncClient(base_url=self.service.url, timeout=10)
        assert (await self.person.post(f"/sign-in/{link}")).status_code == 303

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Run the clients until the end of the block; then each client finishes its current action."""
        stop = asyncio.Event()

        async def keep_on(work: Callable[[], Awaitable[None]], rest: float) -> None:
            while not stop.is_set():
                await work()
                await asyncio.sleep(rest)

        async with asyncio.TaskGroup() as tasks:
            for name, (several, rest) in SHIFTS.items():
                for _ in range(several):
                    tasks.create_task(keep_on(getattr(self, name), rest))
            yield
            stop.set()
        await self.person.aclose()

    async def once(self, client: httpx2.AsyncClient, path: str, **sent: Any) -> httpx2.Response | None:
        """Send once; return None if no response arrives, or if the service asks the client to try again."""
        try:
            answer = await client.post(path, **sent)
        except httpx2.TransportError:
            answer = None
        if answer is None or self._is_outage(answer):
            await asyncio.sleep(0.05)
            return None
        return answer

    def _is_outage(self, answer: httpx2.Response) -> bool:
        """Return whether the service asks the client to try again; fail if it responds with any other server error."""
        if answer.status_code >= 500:
            self.outages[answer.status_code] += 1
            is_retryable = answer.status_code in RETRYABLE and "retry-after" in answer.headers
            assert is_retryable, f"{answer.request.url.path}: {answer.status_code} {answer.text[:200]}"
        return answer.status_code >= 500

    async def insist(self, path: str, **sent: Any) -> httpx2.Response:
        """Retry with one idempotency key until the write is acknowledged; return the response."""
        headers = {"Idempotency-Key": str(uuid4())}
        while (answer := await self.once(self.client, path, headers=headers, **sent)) is None:
            pass
        assert answer.status_code < 300, answer.text
        return answer

    async def hire(self) -> None:
        await self._hire(self.insist if random.random() < 0.5 else self._try)

    async def hire_surely(self) -> None:
        await self._hire(self.insist)

    async def _hire(self, send: Callable[..., Awaitable[httpx2.Response | None]]) -> None:
        name = f"Hired {next(self.numbers)}"
        body = {"identity": {"firstName": "Ada", "lastName": name}, "effectiveDate": day(1)}
        sure = await send("/api/personnel-events/onboard", json=body)
        (self.acknowledged if sure else self.unknown)["hired"].add(name)

    async def _try(self, path: str, **sent: Any) -> httpx2.Response | None:
        return await self.once(self.client, path, **sent)

    async def decide(self) -> None:
        """Take a request from Pending to Completed; after a lost response, read its state before the next step."""
        privileges = [{"header": "Ledger", "permission": f"Post {next(self.numbers)}"}]
        asked = {"applicationId": str(self.crm), "identityId": self.cast.ada, "privileges": privileges}
        detail = (await self.insist(REQUESTS, json={"action": "Add", **asked})).json()
        id = detail["id"]
        self.decisions[id] = []
        in_doubt = set[str]()
        while verb := NEXT.get(detail["status"]):
            path, body = body_of(verb, self.cast)
            answer = await self._try(f"{REQUESTS}/{id}/{path}", json=body)
            if answer is not None and answer.status_code == 200:
                self.decisions[id].append(verb)
                detail = answer.json()
                continue
            if answer is None:
                in_doubt.add(verb)
            else:
                assert verb in in_doubt, f"{verb}: {answer.status_code} {answer.text[:200]}"
            detail = await self._look(f"{REQUESTS}/{id}")

    async def _look(self, path: str) -> dict[str, Any]:
        while True:
            with suppress(httpx2.TransportError):
                answer = await self.client.get(path)
                assert answer.status_code != 404, f"{path} was acknowledged and is lost"
                if answer.status_code == 200:
                    return dict(answer.json())
                assert self._is_outage(answer), f"{path}: {answer.status_code} {answer.text}"
            await asyncio.sleep(0.05)

    async def comment(self) -> None:
        if not self.decisions:
            return
        text, id = f"Said {next(self.numbers)}", random.choice(list(self.decisions))
        answer = await self.once(self.person, f"/requests/{id}/comment", data={"content": text})
        sure = answer is not None and answer.headers.get("location") == f"/requests/{id}"
        (self.acknowledged if sure else self.unknown)["said"].add(text)
        assert sure or answer is None, f"comment: {answer.status_code} {answer.headers.get('location')}"

    async def upload(self) -> None:
        """Upload a file; every second upload repeats the content of the one before."""
        number = next(self.uploads) // 2
        content = "\n".join(["Username,Name", *(f"user{n},Name {number}" for n in range(200))]).encode()
        sent = {str(self.users): ("users.csv", content)}
        params = {"applicationId": str(self.payroll)}
        await self._run("upload", hashlib.sha256(content).digest(), params=params, files=sent)

    async def stage(self) -> None:
        """Stage an import of a new application with a schedule."""
        body = {
            "name": f"Source {next(self.numbers)}",
            "connector": {"name": "Files", "vendor": "Rolecall", "files": [{"name": "Users", "content": "users"}]},
            "schedule": {"cron": NOT_SOON, "locations": {"Users": self.export}},
        }
        id = (await self.insist("/api/applications", json=body)).json()["id"]
        await self._run("stage", self.exported, json={"applicationId": id})

    async def _run(self, how: str, digest: bytes, **sent: Any) -> None:
        """Start an import and wait until it ends, so that imports do not pile up."""
        id = (await self.insist(f"/api/application-imports/{how}", **sent)).json()["id"]
        self.files[id] = digest
        while (await self._look(f"/api/application-imports/{id}"))["status"] in ("Pending", "Running"):  # noqa: ASYNC110
            await asyncio.sleep(0.1)

    async def finished(self, db: Db) -> None:
        """Retry deliveries at once, and wait until all imports and deliveries have ended; after two minutes, fail."""
        await execute(
            db, "UPDATE webhook_deliveries SET next_attempt_on = now() WHERE status = 'Pending' AND lease IS NULL"
        )
        give_up = time.monotonic() + 120
        while left := await fetch_rows(
            db,
            """SELECT 'import', to_jsonb(i) FROM application_imports i
               WHERE i.status IN ('Pending', 'Running', 'Canceling')
               UNION ALL
               SELECT 'delivery', to_jsonb(d) - 'body' FROM webhook_deliveries d WHERE d.status = 'Pending' LIMIT 20""",
        ):
            assert time.monotonic() < give_up, left
            await asyncio.sleep(0.1)

    async def check(self, db: Db) -> str:
        """Check that no acknowledged write was lost and that none happened twice; return the figures."""
        await self._check_records(db)
        interrupted = await self._check_imports(db)
        events = 0
        async with self.service.client() as client:
            for id, decisions in self.decisions.items():
                events += await self._check_request(client, db, id, decisions)
            chain = (await client.get("/api/audit-events/verify", timeout=60)).json()
        assert chain["ok"], chain
        doubled = await self._check_deliveries(db, events)
        writes = sum(map(len, self.acknowledged.values())) + len(self.files)
        moves = sum(map(len, self.decisions.values()))
        return (
            f"{writes + moves:,} acknowledged writes ({moves:,} of them moves), 0 lost, 0 doubled; "
            f"{len(self.files)} imports ({interrupted} given up with a reason), {events:,} deliveries "
            f"({doubled} repeated after an unknown outcome), {chain['count']:,} audit entries, every chain whole"
        )

    async def _check_records(self, db: Db) -> None:
        kept = {
            "hired": "SELECT last_name FROM identities WHERE last_name LIKE 'Hired %%'",
            "said": "SELECT content FROM comments WHERE content LIKE 'Said %%'",
        }
        for kind, sql in kept.items():
            found = Counter(text for (text,) in await fetch_rows(db, sql))
            assert set(found.values()) <= {1}, [text for text, n in found.items() if n > 1]
            assert not self.acknowledged[kind] - found.keys(), "acknowledged and lost"
            assert not found.keys() - self.acknowledged[kind] - self.unknown[kind]
        events = await fetch_value(
            db,
            """SELECT count(*) FROM identities i WHERE last_name LIKE 'Hired %%'
               AND 1 <> (SELECT count(*) FROM personnel_events e WHERE e.identity_id = i.id)""",
        )
        assert events == 0
        silent = await fetch_value(
            db,
            """SELECT count(*) FROM identities i WHERE last_name LIKE 'Hired %%'
               AND NOT EXISTS (SELECT FROM audit_events a WHERE a.entity_id = i.id)""",
        )
        assert silent == 0, "changes without an audit entry"

    async def _check_imports(self, db: Db) -> int:
        rows = await fetch_rows(
            db,
            """SELECT i.id::text, i.status, array_agg(DISTINCT f.location), array_agg(DISTINCT f.sha256),
                      (SELECT line FROM import_log l WHERE l.import_id = i.id ORDER BY number DESC LIMIT 1)
               FROM application_imports i LEFT JOIN import_files f ON f.import_id = i.id GROUP BY i.id""",
        )
        found = {id: rest for id, *rest in rows}
        assert found.keys() == self.files.keys()
        interrupted = 0
        for id, digest in self.files.items():
            status, locations, digests, last = found[id]
            # An import fails if it is interrupted three times, or if its files cannot be fetched.
            if status == "Failed" and ("interrupted" in last or f"{self.export} cannot be read" in last):
                interrupted += 1
                continue
            assert status == "Finished", (id, status, last)
            assert digests == [digest]
            stored = await asyncio.to_thread(self.service.store.read, locations[0])
            assert hashlib.sha256(stored).digest() == digest
        return interrupted

    async def _check_request(self, client: httpx2.AsyncClient, db: Db, id: str, decisions: list[str]) -> int:
        detail = await detail_of(client, id)
        actions = [entry["action"] for entry in detail["activity"]]
        assert status_after(actions) == detail["status"] == "Completed", actions
        names = {"approve": "Approved", "resolve": "Resolved", "verify": "Verified"}
        assert {names[verb] for verb in decisions} <= set(actions), "a decision was acknowledged and lost"
        assert len(decisions) == len(set(decisions))
        events = [event["name"].removeprefix("AccessRequest") for event in await events_of(db, id)]
        assert events == ["Created", *(name for action in actions[1:] if (name := ENTRIES[action][2]))]
        return len(events)

    async def _check_deliveries(self, db: Db, events: int) -> int:
        rows = await fetch_rows(
            db,
            """SELECT d.id::text, d.status, array_agg(a.outcome) FROM webhook_deliveries d
               JOIN webhook_attempts a ON a.delivery_id = d.id WHERE d.access_request_id = ANY(%(ids)s::uuid[])
               GROUP BY d.id""",
            ids=list(self.decisions),
        )
        assert len(rows) == events
        arrivals = Counter(each.id for each in self.receiver.received)
        for id, status, outcomes in rows:
            assert status == "Delivered"
            doubtful = len([outcome for outcome in outcomes if outcome in ("unknown", "timeout", "connect")])
            assert 1 <= arrivals[id] <= 1 + doubtful, (id, outcomes, arrivals[id])
        return sum(n - 1 for n in arrivals.values())


@asynccontextmanager
async def under_work(folder: Path, **settings: str) -> AsyncIterator[Crew[Whole]]:
    """Run a service and its clients until the end of the block; then check the results with a restarted service."""
    settings |= {"ROLECALL_WEBHOOK_ALLOW": "127.0.0.0/8", "ROLECALL_IMPORT_ROOTS": str(folder)}
    data_dir, export = folder / "here", folder / "users.csv"
    export.write_bytes(EXPORT)
    async with receiving() as receiver:
        async with off_the_loop(a_whole_service(data_dir, "--workers", "1", **settings)) as service:
            async with service.client() as client, service.db() as db:
                crew = Crew(service, client, receiver)
                await crew.set_up(db, str(export), EXPORT)
            async with service.client() as crew.client, crew.at_work():
                yield crew
            crashes = service.crashes()
        later = off_the_loop(a_whole_service(data_dir, "--workers", "1", **settings))
        async with later as crew.service, crew.service.db() as db:
            await crew.finished(db)
            crew.figures = await crew.check(db)
    assert not crashes, crashes[:3]
