"""Test the metrics, parsed as Prometheus parses them."""

import re
from collections import Counter
from ipaddress import ip_network
from math import inf
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import msgspec
import pytest
import yaml

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.heartbeat import beat
from tests.application_imports.running import Imports
from tests.asgi import a_service, serving
from tests.builders import an_access_request, an_application, an_import
from tests.webhooks.sending import a_hook

PAGE = (Path(__file__).parents[2] / "docs/operating.md").read_text()
_SAMPLE = re.compile(r"([a-z_]+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)')
Told = dict[str, dict[frozenset[tuple[str, str]], float]]


def read(text: str) -> tuple[Told, dict[str, str]]:
    """Return the samples by name and labels, and the type of each metric; fail on an invalid format."""
    told: Told = {}
    kinds: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kinds[name] = line.split(" ")
        elif not line.startswith("# HELP "):
            sample = _SAMPLE.fullmatch(line)
            assert sample, line
            name, labels, value = sample.groups()
            pairs = _LABEL.findall(labels or "")
            assert ",".join(f'{key}="{text}"' for key, text in pairs) == (labels or "")
            series = told.setdefault(name, {})
            assert frozenset(pairs) not in series, line
            series[frozenset(pairs)] = float(value)
    return told, kinds


async def asked(client: httpx2.AsyncClient) -> tuple[Told, dict[str, str]]:
    answer = await client.get("/metrics", headers={"Host": "localhost"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return read(answer.text)


def labels(**pairs: object) -> frozenset[tuple[str, str]]:
    return frozenset((name, str(value)) for name, value in pairs.items())


async def test_requests_are_counted_by_route_and_status(client: httpx2.AsyncClient) -> None:
    for path in ("/api/identities", "/api/identities", f"/api/identities/{uuid4()}", "/no/such/route"):
        await client.get(path)
    await client.request("BREW", "/api/identities")

    told, kinds = await asked(client)

    count = told["http_request_seconds_count"]
    assert kinds["http_request_seconds"] == "histogram"
    assert count[labels(method="GET", route="/api/identities", status=200)] == 2
    assert count[labels(method="GET", route="/api/identities/{id}", status=404)] == 1
    assert count[labels(method="GET", route="", status=404)] == 1
    assert count[labels(method="other", route="", status=405)] == 1
    buckets: dict[frozenset[tuple[str, str]], list[tuple[float, float]]] = {}
    for pairs, value in told["http_request_seconds_bucket"].items():
        of = dict(pairs)
        buckets.setdefault(pairs - {("le", of["le"])}, []).append((float(of["le"]), value))
    for pairs, found in buckets.items():
        found.sort()
        assert [value for _, value in found] == sorted(value for _, value in found)
        assert found[-1] == (inf, count[pairs])


async def test_every_process_reports_the_totals_of_all_processes(config: Config, db: Db) -> None:
    async with serving(config) as one, serving(config) as other:
        await one.get("/healthz")
        await asked(one)
        told, _ = await asked(other)
        assert told["http_request_seconds_count"][labels(method="GET", route="/healthz", status=200)] == 1
        await one.get("/healthz")

    # The last counts are flushed on exit.
    kept = await fetch_value(db, "SELECT sum(requests)::int FROM request_times WHERE route = '/healthz'")
    assert kept == 2


async def test_failed_flush_is_retried(config: Config, db: Db) -> None:
    async with serving(config) as client:
        await client.get("/healthz")
        await execute(db, "ALTER TABLE request_times RENAME TO away")
        try:
            assert (await client.get("/metrics", headers={"Host": "localhost"})).status_code == 500
        finally:
            await execute(db, "ALTER TABLE away RENAME TO request_times")
        told, _ = await asked(client)

    assert told["http_request_seconds_count"][labels(method="GET", route="/healthz", status=200)] == 1


async def test_imports_and_deliveries_are_reported(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    await beat(db, uuid4())
    app = await an_application(db, "Payroll")
    await Imports(client, config).finish(app, {"Users": "Username\nada\nbob\n"})
    await an_import(db, app, "Failed")
    await an_import(db, app, "Pending")
    held = await an_import(db, await an_application(db, "Stock"), "Running")
    await execute(db, "INSERT INTO import_runs (import_id, held) VALUES (%(id)s, 'too much')", id=held)
    await a_hook(client, "https://hooks.example.com/")
    await an_access_request(db)

    told, _ = await asked(client)

    assert told["workers_alive"][labels()] == 1
    assert told["imports"] == {labels(status="Pending"): 1, labels(status="Running"): 1, labels(status="Canceling"): 0}
    assert told["imports_held"][labels()] == 1
    assert told["import_wait_seconds"][labels()] > 0
    assert told["import_seconds_count"][labels(status="Finished")] == 1
    assert told["import_seconds_count"][labels(status="Failed")] == 1
    assert told["import_seconds_sum"][labels(status="Finished")] > 0
    assert told["import_rows_total"][labels(outcome="applied")] == 2
    assert told["webhook_deliveries"][labels(status="Pending")] >= 1
    assert told["webhook_delivery_late_seconds"][labels()] > 0
    assert sum(told["access_requests"].values()) == 1
    assert sum(told["personnel_events"].values()) == 0


FROM_ELSEWHERE = [
    (("10.1.2.3", 1), {}),
    (("203.0.113.9", 1), {"Authorization": "Bearer guessed"}),
    (("::1", 1), {"Forwarded": "for=10.1.2.3"}),
    (None, {}),
    *[(("127.0.0.1", 1), {name: "127.0.0.1"}) for name in (
        "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded", "Via", "X-Real-IP", "X-Client-IP",
        "True-Client-IP", "CF-Connecting-IP", "X-Envoy-External-Address", "X-Original-URL", "X-Amzn-Trace-Id",
    )],
    *[(("127.0.0.1", 1), {"Host": host}) for host in (
        "rolecall.test", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.1.2.3", "[", "a@b", "",
        "metrics.localhost", "127.0.0.1:80.evil.example", "localhost:evil.example",
    )],
]  # fmt: skip
LOCAL = ["localhost", "localhost:8000", "127.0.0.1:8000", "127.8.8.8", "[::1]:8000", "[::ffff:127.0.0.1]", "LOCALHOST"]


async def status(app: Any, peer: tuple[str, int] | None, headers: dict[str, str]) -> int:
    transport = httpx2.ASGITransport(app, client=peer)  # type: ignore[arg-type]
    async with httpx2.AsyncClient(transport=transport, base_url="http://rolecall.test") as client:
        return (await client.get("/metrics", headers={"Host": "localhost", **headers})).status_code


async def test_loopback_names_and_addresses_are_accepted_as_host(config: Config) -> None:
    async with a_service(config) as app:
        assert [await status(app, ("127.0.0.1", 1), {"Host": host}) for host in LOCAL] == [200] * len(LOCAL)


async def test_requests_from_the_machine_of_a_trusted_proxy_are_not_local(config: Config) -> None:
    proxied = msgspec.structs.replace(config, trusted_proxies=(ip_network("127.0.0.0/8"),))
    async with a_service(proxied) as app:
        assert await status(app, ("127.0.0.1", 1), {}) == 401
        assert await status(app, ("::1", 1), {}) == 200


async def test_metrics_need_a_local_client_or_the_token(config: Config) -> None:
    for token in (None, "scrape"):
        async with a_service(msgspec.structs.replace(config, metrics_token=token)) as app:
            refused = [await status(app, peer, headers) for peer, headers in FROM_ELSEWHERE]
            local = [await status(app, (host, 1), {}) for host in ("127.0.0.1", "::1", "::ffff:127.0.0.1")]
            with_token = await status(app, ("10.1.2.3", 1), {"Authorization": "Bearer scrape"})

            assert (set(refused), set(local)) == ({401}, {200})
            assert with_token == (200 if token else 401)


def documented() -> set[str]:
    table = PAGE.partition("| Metric | | |")[2].partition("\n\n")[0]
    return {name for line in table.splitlines() for name in re.findall(r"`([a-z_]+)`", line.split("|")[1:2][0] if "|" in line else "")}  # fmt: skip # noqa: E501


async def test_operating_page_lists_exactly_the_metrics(client: httpx2.AsyncClient) -> None:
    _, kinds = await asked(client)

    assert documented() == set(kinds)


async def test_alerts_in_the_operating_page_use_existing_metrics(client: httpx2.AsyncClient) -> None:
    _, kinds = await asked(client)
    known = {"up", *kinds}
    for name, kind in kinds.items():
        known |= {name + end for end in {"histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count")}.get(kind, ())}  # fmt: skip # noqa: E501
    rules = yaml.safe_load(re.findall(r"```yaml\n(groups:.*?)```", PAGE, re.DOTALL)[0])["groups"][0]["rules"]

    for rule in rules:
        expression = rule["expr"]
        bare = re.sub(r"\{.*?\}|\[.*?\]|by \(.*?\)", "", expression)
        names = set(re.findall(r"[a-z_]+(?![a-z_(]|\s*\()", bare))
        assert names
        assert names <= known, expression
        brackets = Counter(expression)
        assert all(brackets[one] == brackets[other] for one, other in ("()", "{}", "[]"))
    assert {"RolecallNoWorker", "RolecallDeliveriesLate"} <= {rule["alert"] for rule in rules}


@pytest.mark.parametrize("text", ['a "quote"', "a \\ stroke", "a\nline"])
def test_labels_are_escaped(text: str) -> None:
    from rolecall.operate.metrics import Metric, MetricType, exposition

    metric = Metric("some_info", MetricType.GAUGE, "x", [("", {"version": text}, 1)])

    told, _ = read(exposition([metric]).decode())

    ((pairs, value),) = told["some_info"].items()
    assert (dict(pairs)["version"].encode().decode("unicode_escape"), value) == (text, 1)
