"""Test input that our pages never send: forms, queries and paths are rejected with a page, never a server error."""

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.console.company import a_company
from tests.console.test_roles import MISSING, OPEN, SCREENS, address

HTML = {"Accept": "text/html"}
FORM = {"Content-Type": "application/x-www-form-urlencoded", **HTML}
POSTS = sorted(path for method, path in SCREENS if method == "POST" and path != "/sign-out")


async def test_sign_in_with_nul_in_the_email_is_refused(visitor: httpx2.AsyncClient) -> None:
    answer = await visitor.post("/sign-in", content="email=a%00b&password=x", headers=FORM)

    assert answer.status_code == 400
    assert "NUL" in answer.text


@pytest.mark.parametrize("body", ["a%00b=x", "x=a%00b", "email=ok&role=%00"])
async def test_nul_in_any_form_is_refused_with_a_400_page(administrator: httpx2.AsyncClient, body: str) -> None:
    for path in POSTS:
        if "upload" not in path:
            answer = await administrator.post(address(path), content=body, headers=FORM)

            assert answer.status_code == 400, path
            assert "<h1>" in answer.text, path


async def test_malformed_multipart_form_is_refused_with_a_400_page(administrator: httpx2.AsyncClient) -> None:
    part = b'--x\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n--x--\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=x", **HTML}
    for name, value in ((b"a", b"b\x00c"), (b"a\x00b", b"c"), (b"a", b"\xed\xa0\x80"), (b"\xff", b"c")):
        answer = await administrator.post(
            f"/applications/{MISSING}/upload", content=part % (name, value), headers=headers
        )

        assert answer.status_code == 400, (name, value)
        assert "<h1>" in answer.text


async def test_nul_in_any_query_is_refused_with_a_400_page(
    administrator: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    await a_company(db, config)
    for (method, path), screen in sorted(SCREENS.items()):
        if method == "GET" and (method, path) not in OPEN and "{" not in path:
            for name in (*screen.query, "page", "other"):
                answer = await administrator.get(f"{path}?{name}=a%00b", headers=HTML)

                assert answer.status_code == 400, (path, name)
    assert (await administrator.get("/sign-in?next=%00")).status_code == 400


@pytest.mark.parametrize(
    ("path", "field"),
    [("/applications/new", "reviewEveryMonths"), ("/review-templates/new", "everyMonths")],
)
async def test_number_too_long_for_python_is_refused_with_the_form(
    administrator: httpx2.AsyncClient, path: str, field: str
) -> None:
    answer = await administrator.post(path, data={field: "9" * 5000}, headers=HTML)

    assert answer.status_code == 400
    assert f'name="{field}"' in answer.text


async def test_calendar_rejects_months_outside_the_supported_years(administrator: httpx2.AsyncClient) -> None:
    for month in ("9999-12", "9001-01", "0001-01", "1899-12", "0000-01", "x", "2026-13", "%00"):
        assert (await administrator.get(f"/events/calendar?month={month}")).status_code == 400, month
    for month in ("1900-01", "9000-12", "2026-02"):
        assert (await administrator.get(f"/events/calendar?month={month}")).status_code == 200, month


PATHS = ["%00", "a%00b.css", "x" * 300, "%C3%A9" * 200, "..%00", "console.css%00"]


@pytest.mark.parametrize("folder", ["/static/", "/", "/identities/", "/docs/"])
async def test_invalid_path_is_not_found(administrator: httpx2.AsyncClient, folder: str) -> None:
    for name in PATHS:
        answer = await administrator.get(folder + name, headers=HTML)

        assert answer.status_code == 404, name
        assert answer.headers["content-type"].startswith("text/html")


async def test_invalid_api_path_is_not_found(client: httpx2.AsyncClient) -> None:
    for folder in ("identities", "access-requests", "application-imports", "webhooks", "nothing"):
        for name in PATHS:
            answer = await client.get(f"/api/{folder}/{name}", headers=HTML)

            assert answer.status_code == 404, (folder, name)
            assert answer.json()["error"] == "not_found"


@pytest.mark.parametrize("header", ["Origin", "Referer"])
async def test_invalid_origin_or_referer_header_causes_no_server_error(
    administrator: httpx2.AsyncClient, header: str
) -> None:
    answer = await administrator.post("/settings", content="version=x", headers={**FORM, header: "https://["})

    assert answer.status_code in (303, 400, 403, 409)


async def test_outdated_form_without_fields_is_reported_as_a_conflict(
    administrator: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, config)
    path = f"/access-models/{company.ids['access-models']}/edit"

    answer = await administrator.post(path, content="version=older", headers=FORM)

    assert answer.status_code == 409
