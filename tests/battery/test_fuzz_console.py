"""Send hostile values in forms, queries and paths of the console and in paths of the API; none may cause a 500."""

import json
import os
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote, urlencode

import httpx2
import msgspec
import pytest

from rolecall.console import actions
from rolecall.core.caller import Scope
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.tokens import actions as tokens
from tests.asgi import a_service
from tests.battery.test_fuzz import CASES, SEED, Target, record_answers
from tests.builders import an_application
from tests.console.company import Company, a_company
from tests.console.pages import Form, forms_of
from tests.console.test_roles import SCREENS
from tests.listening import an_api

ORIGIN = "https://rolecall.test"
EMAIL = "ada.admin@example.com"
SHARE = int(os.environ.get("ROLECALL_CONSOLE_CASES", str(CASES // 4)))
# The values are percent-encoded, as sent over the wire.
VALUES = [
    "%00", "a%00b", "%ED%A0%80", "%FF%FE", "%C0%AF", "", "+", "%20%20", "%0D%0ALocation:%20x", "%1B%5B31m", "%E2%80%AE",
    "%EF%BB%BF", "-1", "0", "1e400", "1.5", "9" * 40, "%D9%A3", "%F0%9D%9F%8F", "NaN", "Infinity", "true", "null", "[]",
    "9999-12-31", "0001-01-01", "9999-12", "0001-01", "2026-02-30", "2026-13", "0000-00", "99999-01-01",
    "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00%2B14:00", "%27%20OR%201=1--", "%25s%25n", "%7B%7B7*7%7D%7D",
    "..%2F..%2Fetc%2Fpasswd", "%5C..%5C", "http://[", "http://%00/", "//evil.example",
    "00000000-0000-0000-0000-000000000000",
    "x" * 300, "x" * 5000, "x" * 300_000, "%C3%A9" * 300, "a%40b" * 200, "*%20*%20*%20*%20*", "%23" * 100,
]  # fmt: skip
NAMES = ["%00", "page%00", "[]", "a.b.c", "identity.", ".", "__class__", "%ED%A0%80"]


class Visitor:
    """An administrator who signs in again whenever a form ends the session."""

    def __init__(self, client: httpx2.AsyncClient, db: Db, facts: Facts) -> None:
        self.client, self.db, self.facts = client, db, facts
        self.answers = Counter[str]()
        self.faults: list[object] = []

    async def sign_in(self) -> None:
        link = await actions.create_administrator(self.db, EMAIL, self.facts)
        assert (await self.client.post(f"/sign-in/{link}")).status_code == 303

    async def send(self, method: str, url: str, **sent: Any) -> None:
        answer = await self.client.request(method, url, **sent)
        self.answers[str(answer.status_code)] += 1
        if answer.status_code >= 500:
            self.faults.append((method, url[:200], str(sent)[:200]))
        if answer.status_code == 303 and answer.headers["location"].startswith("/sign-in?"):
            await self.sign_in()


@pytest.fixture
async def visitor(config: Config, db: Db, facts: Facts) -> AsyncIterator[Visitor]:
    async with a_service(msgspec.structs.replace(config, base_url=ORIGIN)) as app:
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN, headers={"Origin": ORIGIN}) as client:
            yield Visitor(client, db, facts)


@pytest.fixture
async def company(visitor: Visitor, db: Db, config: Config) -> Company:
    made = await a_company(db, config)
    await visitor.sign_in()
    return made


def filled_address(path: str, company: Company) -> str:
    before, found, _ = path.partition("/{id:str}")
    id = company.ids.get(before.rpartition("/")[2], "none") if found else ""
    return path.replace("{id:str}", str(id)).replace("{file:str}", str(company.ids["files"])).replace("{verb:str}", "x")


def is_shown(method: str, path: str) -> bool:
    """Return whether to visit a screen: a GET that is neither a streaming log nor a redirect to a provider."""
    return method == "GET" and not path.endswith("/log") and "oidc" not in path


async def forms(visitor: Visitor, company: Company) -> list[Form]:
    found: dict[tuple[str, str], Form] = {}
    for method, path in sorted(SCREENS):
        if is_shown(method, path):
            page = await visitor.client.get(filled_address(path, company))
            if page.headers.get("content-type", "").startswith("text/html"):
                for form in forms_of(str(page.request.url.path), page.text):
                    found.setdefault((form.method, form.action), form)
    return [form for form in found.values() if not form.action.endswith("/sign-out")]


def cases_of(form: Form) -> list[tuple[Form, str, str]]:
    fields = [*dict.fromkeys([*(field.name for field in form.fields), *form.files])]
    buttons = [button.name for button in form.buttons if button]
    return [(form, name, value) for name in (*fields, *buttons) for value in VALUES] + [
        (form, name, "x") for name in NAMES
    ]


def body_of(form: Form, name: str, value: str) -> str:
    # Omit the version: an outdated form would be rejected before its other fields are read.
    kept = [(field.name, field.value) for field in form.fields if field.name not in (name, "version")]
    return "&".join(part for part in (urlencode(kept), f"{name}={value}") if part)


@pytest.mark.timeout(900 + CASES // 20)
async def test_console_forms_survive_hostile_values(visitor: Visitor, company: Company) -> None:
    dice = random.Random(SEED)
    cases = [case for form in await forms(visitor, company) for case in cases_of(form)]
    started = time.monotonic()
    for form, name, value in dice.sample(cases, min(SHARE, len(cases))):
        body = body_of(form, name, value)
        if form.method == "GET":
            await visitor.send("GET", f"{form.action.partition('?')[0]}?{body[:20_000]}")
        elif form.is_upload:
            await visitor.send("POST", form.action, **multipart(name, value))
        else:
            await visitor.send(
                "POST", form.action, content=body, headers={"Content-Type": "application/x-www-form-urlencoded"}
            )
    what = f"hostile values in {len(cases):,} places of forms ({time.monotonic() - started:.0f} s)"
    record_answers(what, visitor.answers)
    assert visitor.faults == [], SEED


def multipart(name: str, value: str) -> dict[str, Any]:
    plain = bytes.fromhex("".join(f"{ord(c):02x}" for c in value if ord(c) < 256)).replace(b"%00", b"\x00")
    raw = plain.replace(b"%FF", b"\xff").replace(b"%ED%A0%80", b"\xed\xa0\x80")
    part = b'--x\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
    field = name.encode().replace(b"%00", b"\x00")
    content = part % (field, b"", raw) + part % (raw, b'; filename="%s"' % raw, b"Username\r\nada") + b"--x--\r\n"
    return {"content": content, "headers": {"Content-Type": "multipart/form-data; boundary=x"}}


@pytest.mark.timeout(900 + CASES // 20)
async def test_console_queries_survive_hostile_values(visitor: Visitor, company: Company) -> None:
    dice = random.Random(SEED)
    asked = [
        (filled_address(path, company), name)
        for (method, path), screen in sorted(SCREENS.items())
        for name in (*screen.query, "page", "next", "after", "status", "state", "code", *NAMES)
        if is_shown(method, path) or "oidc" in path
    ]
    cases = [(path, name, value) for path, name in asked for value in VALUES]
    for path, name, value in dice.sample(cases, min(SHARE, len(cases))):
        await visitor.send("GET", f"{path}?{name}={value[:20_000]}")
    record_answers(f"hostile values in {len(cases):,} places of queries", visitor.answers)
    assert visitor.faults == [], SEED


@pytest.mark.timeout(900 + CASES // 20)
async def test_unexpected_posts_to_the_console_never_cause_a_server_error(visitor: Visitor, company: Company) -> None:
    """Post arbitrary fields and bodies to every screen with a form."""
    dice = random.Random(SEED)
    kinds = [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "application/json",
        "",
    ]
    headers = {"Referer": "http://[", "Origin": ORIGIN}
    posts = sorted({path for method, path in SCREENS if method == "POST"} - {"/sign-out"})
    for _ in range(SHARE // 4):
        path = filled_address(dice.choice(posts), company)
        body = "&".join(f"{dice.choice(NAMES)}={dice.choice(VALUES)}" for _ in range(dice.randrange(4)))
        sent = {"content": body, "headers": {**headers, "Content-Type": dice.choice(kinds)}}
        await visitor.send("POST", path, **sent)
    record_answers("posts that no page sends", visitor.answers)
    assert visitor.faults == [], SEED


def paths_of(dice: random.Random) -> str:
    starts = [path for _, path in SCREENS] + [
        "/static/{id:str}",
        "/static/fonts/{id:str}",
        "/{id:str}",
        "/docs/{id:str}",
    ]
    path = dice.choice([*starts, *API_PATHS])
    hostile = [value[:9000] for value in VALUES if value] + [
        "%2e%2e",
        "..",
        ".",
        "%2F",
        "%5C",
        "console.css%00",
        "~",
        ";",
    ]
    for place in ("{id:str}", "{verb:str}", "{file:str}", "{id}", "{fileId}", "{number}"):
        path = path.replace(place, dice.choice(hostile))
    return path if dice.random() < 0.8 else f"{path}/{dice.choice(hostile)}"


API_PATHS = [
    f"/api/{name}/{{id}}{rest}"
    for name in (
        "identities", "applications", "application-imports", "access-requests", "personnel-events", "access-models",
        "webhooks", "webhook-deliveries", "accounts", "tokens", "audit-events",
    )
    for rest in ("", "/{id}", "/files/{fileId}")
] + ["/webhooks/callback/{id}", "/api/{id}"]  # fmt: skip


@pytest.mark.timeout(900 + CASES // 20)
async def test_hostile_paths_never_cause_a_server_error(config: Config, db: Db, facts: Facts) -> None:
    """Use raw HTTP, because a client library would normalize some of the paths."""
    dice = random.Random(SEED)
    token = (await tokens.create_token(db, None, {"name": "paths", "scopes": list(Scope)}, facts)).secret
    link = await actions.create_administrator(db, EMAIL, facts)
    async with an_api(config) as api:
        async with httpx2.AsyncClient(base_url=api.url) as browser:
            signed_in = await browser.post(f"/sign-in/{link}")
            cookie = signed_in.headers["set-cookie"].partition(";")[0]
        target = Target(api, token, await an_application(db), "")
        answers = Counter[str]()
        for n in range(SHARE):
            method = dice.choice(["GET", "GET", "GET", "HEAD", "POST", "DELETE", "PATCH"])
            kind = dice.choice(["text/html", "application/json"])
            path = paths_of(dice)
            head = target.head + f"Cookie: {cookie}\r\nAccept: {kind}\r\nContent-Length: 0\r\n\r\n".encode()
            answer = target.answer(f"{method} {path}".encode() + head)
            answers[answer] += 1
            assert answer != "500", (SEED, n, method, path[:300])
        assert not api.crashes(), (SEED, api.crashes()[:3])
    record_answers("hostile paths", answers)
    assert {"200", "404"} <= set(answers) or SHARE < 100, json.dumps(answers)


def test_hostile_values_include_nul() -> None:
    assert quote("\x00") in VALUES
