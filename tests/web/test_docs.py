import hashlib
import runpy
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import httpx2

VOID = {"meta", "link", "br"}


class Outline(HTMLParser):
    """Collect links and ids of a page; fail on wrong nesting, inline styles and event handlers."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.links += [link for name in ("href", "src") if (link := given.get(name))]
        self.ids += [name] if (name := given.get("id")) else []
        assert not any(name == "style" or name.startswith("on") for name in given)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


async def outline(client: httpx2.AsyncClient) -> Outline:
    answer = await client.get("/docs")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    parsed = Outline()
    parsed.feed(answer.text)
    parsed.close()
    assert parsed.open == []
    return parsed


async def test_page_loads_only_its_own_stylesheet(anonymous: httpx2.AsyncClient) -> None:
    page = await outline(anonymous)

    assert {link for link in page.links if not link.startswith("#")} == {
        "/docs/style.css",
        "/docs/try",
        "/openapi.json",
    }
    assert not page.tags & {"script", "img", "iframe", "style"}


async def test_content_security_policy_allows_only_the_stylesheet(anonymous: httpx2.AsyncClient) -> None:
    page, style = await anonymous.get("/docs"), await anonymous.get("/docs/style.css")

    policy = "default-src 'none'; style-src 'self'; frame-ancestors 'none'"
    assert page.headers.get_list("content-security-policy") == [policy]
    assert (style.status_code, style.headers["content-type"]) == (200, "text/css; charset=utf-8")


async def test_every_anchor_of_the_page_exists_once(anonymous: httpx2.AsyncClient) -> None:
    page = await outline(anonymous)

    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))


async def test_page_has_every_operation_with_a_curl_command(anonymous: httpx2.AsyncClient) -> None:
    document = (await anonymous.get("/openapi.json")).json()
    page = (await anonymous.get("/docs")).text

    operations = [described for methods in document["paths"].values() for described in methods.values()]
    assert all(f'id="{described["operationId"]}"' in page for described in operations)
    assert page.count("<code>curl http://rolecall.test/") == len(operations)
    assert '-H "Authorization: Bearer $TOKEN"' in unescape(page)


async def test_try_page_loads_swagger_ui_from_this_service_only(anonymous: httpx2.AsyncClient) -> None:
    answer = await anonymous.get("/docs/try")
    parsed = Outline()
    parsed.feed(answer.text)
    loaded = [link for link in parsed.links if link.startswith("/docs/static/")]

    assert set(parsed.links) - set(loaded) == {"/docs"}
    assert len(loaded) == 3
    for link in loaded:
        assert (await anonymous.get(link)).status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self';" in policy
    assert "connect-src 'self'" in policy


async def test_swagger_ui_files_equal_those_of_the_pinned_package(anonymous: httpx2.AsyncClient) -> None:
    taken = runpy.run_path(str(Path(__file__).parents[2] / "hatch_build.py"))["TAKEN"]

    for _, _, target, sha256 in taken:
        path = target.removeprefix("rolecall").replace("/web/static", "/docs/static").replace("/console", "")
        assert hashlib.sha256((await anonymous.get(path)).content).hexdigest() == sha256
