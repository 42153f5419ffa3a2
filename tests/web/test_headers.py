import httpx2
import msgspec
import pytest

from rolecall.core.config import Config
from tests.asgi import serving

SAFE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/identities", 200),
        ("GET", "/api/identities/0", 404),
        ("PUT", "/api/identities", 405),
        ("POST", "/api/tokens", 415),
        ("GET", "/nowhere", 404),
        ("OPTIONS", "/api/identities", 204),
    ],
)
async def test_every_response_has_the_security_headers(
    client: httpx2.AsyncClient, method: str, path: str, status: int
) -> None:
    answer = await client.request(method, path)

    assert answer.status_code == status
    assert {name: answer.headers.get_list(name) for name in SAFE} == {name: [value] for name, value in SAFE.items()}
    assert "strict-transport-security" not in answer.headers


async def test_hsts_is_sent_when_the_base_url_is_https(config: Config) -> None:
    async with serving(msgspec.structs.replace(config, base_url="https://rolecall.test")) as client:
        answer = await client.get("/api/identities")

    assert answer.status_code == 401
    assert answer.headers["strict-transport-security"] == "max-age=31536000"


async def test_head_responds_like_get_without_a_body(client: httpx2.AsyncClient) -> None:
    get, head = await client.get("/api/identities"), await client.head("/api/identities")

    assert head.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == get.headers["content-length"] == str(len(get.content))
    assert head.headers["content-type"] == "application/json"


async def test_head_requires_the_same_token_as_get(anonymous: httpx2.AsyncClient) -> None:
    assert (await anonymous.head("/api/identities")).status_code == 401


async def test_options_lists_the_allowed_methods(client: httpx2.AsyncClient) -> None:
    answer = await client.options("/api/settings")

    assert answer.status_code == 204
    assert answer.content == b""
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "OPTIONS", "PATCH"}
