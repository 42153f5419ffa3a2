"""Test that the address check blocks many spellings of forbidden addresses when a URL is saved, tested and used."""

import asyncio
import datetime as dt
import errno
import re
import socket
import ssl
from ipaddress import IPv4Network, ip_address
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from rolecall.core import address_check, dialing
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.webhooks import outgoing
from tests.builders import an_access_request
from tests.figures import measured
from tests.webhooks.receivers import Receiver, hang, hang_up
from tests.webhooks.sending import EVENTS, Post, a_hook, deliveries

SPELLINGS = [
    # Loopback, in spellings that some resolver or parser accepts.
    "127.0.0.1", "127.0.0.2", "127.1", "127.0.1", "127.255.255.254", "2130706433", "017700000001", "0x7f000001",
    "0x7f.1", "0x7F.0.0.0x1", "0177.0.0.1", "0177.0.0x0.1", "127.0.0.1.", "127.000.000.001", "0", "0.0.0.0", "00.0.0.0",
    "localhost", "LOCALHOST", "LocalHost.", "localhost.localdomain", "db.localhost", "１２７.０.０.１", "①②⑦.⓪.⓪.①",
    "127。0。0。1", "127｡0｡0｡1", "%31%32%37.0.0.1", "127.0.0.1%2f", "[::1]", "[0:0:0:0:0:0:0:1]", "[0000::1]", "[::]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]", "[::7f00:1]",
    "0x7f.0x0.0x0.0x1", "0177.1", "0x7f.0.1", "127.0.0.0x1", "127.127.127.127", "0.0.0.1", "[::FFFF:127.0.0.1]",
    "[::1%25lo]", "[::fffe:7f00:1]", "LOCALHOST.LOCALDOMAIN", "a.b.localhost.", "ip6-localhost", "ip6-loopback",
    "127.0.0.1%00", "localhost%23.example.com", "ada@127.0.0.1", "example.com@127.0.0.1", "127.0.0.1:80@127.0.0.1",
    # Private networks.
    "10.0.0.1", "10.255.255.255", "167772161", "012.0.0.1", "0xa.1", "172.16.0.1", "172.31.255.254", "192.168.0.1",
    "192.168.1", "3232235777", "100.64.0.1", "100.127.255.254", "[fc00::1]", "[fd12:3456::1]", "[::ffff:10.0.0.1]",
    "[::ffff:c0a8:1]", "printer.local", "vault.internal", "router.home.arpa", "intranet",
    "10.1", "10.0.1", "172.1048577", "192.168.257", "0300.0250.0.1", "0xc0a80001", "172.20.10.2", "[::ffff:172.16.0.1]",
    "host.docker.internal", "kubernetes.default.svc.cluster.local", "[2001:0:7f00:1::]", "[2002:c0a8:1::]",
    # Metadata services of cloud providers.
    "169.254.169.254", "169.254.170.2", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "[::ffff:169.254.169.254]",
    "[fe80::1]", "[fe80::a9fe:a9fe]", "[fd00:ec2::254]", "metadata.google.internal", "168.63.129.16", "100.100.100.200",
    "192.0.0.192", "169.254.0.1", "169.254.255.255", "[fe80::1%25eth0]", "instance-data.internal",
    # Other special ranges.
    "0.1.2.3", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1",
    "239.255.255.255", "240.0.0.1", "255.255.255.255", "[ff02::1]", "[100::1]", "[2001::1]", "[2001:db8::1]",
    "[2001:10::1]", "[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[3fff::1]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b:1::a00:1]", "[5f00::1]", "[4000::1]", "[fec0::1]", "[::ffff:0:127.0.0.1]",
]  # fmt: skip
INSIDE = (
    ".local", ".internal", ".arpa", "intranet", "ip6-localhost", "ip6-loopback", ".localhost", ".localdomain",
    ".LOCALDOMAIN",
)  # fmt: skip
URLS = [f"{scheme}://{host}{port}/hook" for host in SPELLINGS for scheme, port in (("https", ""), ("http", ":8080"))]


@pytest.fixture
def config(config: Config) -> Config:
    """Exempt no network from the address check."""
    return msgspec.structs.replace(config, webhook_allow=())


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Record each attempt to create a socket and raise an error, so that nothing is sent."""
    made: list[tuple[Any, ...]] = []

    def refuse(*info: Any) -> socket.socket:
        made.append(info)
        raise AssertionError("a socket was made")

    monkeypatch.setattr(dialing, "make_socket", refuse)
    return made


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Return a map from names to the addresses that they resolve to, for tests to fill.

    Addresses resolve to themselves, and localhost resolves to 127.0.0.1.
    """
    known: dict[str, list[str]] = {}
    real = socket.getaddrinfo

    def look_up(host: str, port: Any, family: int = 0, kind: int = 0, *_: Any) -> Any:
        try:
            return real(host, port, family, kind, flags=socket.AI_NUMERICHOST)
        except socket.gaierror:
            if host.rstrip(".").lower() == "localhost" and host not in known:
                return real("127.0.0.1", port, family, kind)
            if not (addresses := known.get(host)):
                raise
            return [info for address in addresses for info in real(address, port, family, kind)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return known


def test_address_corpus_is_large_and_unique() -> None:
    assert len(set(SPELLINGS)) == len(SPELLINGS) >= 120


def test_address_corpus_exposes_gaps_of_is_global() -> None:
    """`is_global` accepts some of these addresses, which is why the address check has its own list."""
    literal = [host.strip("[]") for host in SPELLINGS if re.fullmatch(r"[\d.]+|\[[\da-f:.]+\]", host)]
    addresses = [ip_address(text) for text in literal if address_check._QUAD.fullmatch(text) or ":" in text]

    assert [address for address in addresses if address.is_global]
    assert not [address for address in addresses if not address_check.is_refused(str(address), ())]


@pytest.mark.usefixtures("dialled", "names")
async def test_create_and_change_reject_every_forbidden_spelling(
    client: httpx2.AsyncClient, names: dict[str, Any]
) -> None:
    names["hooks.example.com"] = ["93.184.216.34"]
    hook = await a_hook(client, "https://hooks.example.com/")
    taken = []
    for url in URLS:
        body = {"name": "Inside", "url": url, "events": EVENTS}
        created = await client.post("/api/webhooks", json=body)
        changed = await client.patch(f"/api/webhooks/{hook['id']}", json={"url": url})
        fields = [[problem["field"] for problem in answer.json().get("errors", [])] for answer in (created, changed)]
        taken += [url] if fields != [["url"], ["url"]] else []

    assert taken == []


@pytest.mark.usefixtures("names")
async def test_forbidden_addresses_are_never_contacted(
    client: httpx2.AsyncClient, db: Db, post: Post, names: dict[str, Any], dialled: list[Any]
) -> None:
    """Write the URLs directly into the table, as if they had been harmless when saved."""
    names["hooks.example.com"] = ["93.184.216.34"]
    tested = []
    for number, url in enumerate(URLS):
        hook = await a_hook(client, "https://hooks.example.com/", name=f"Hook {number}")
        await execute(db, "UPDATE webhooks SET url = %(url)s WHERE id = %(id)s", url=url, id=hook["id"])
        answer = await client.post(f"/api/webhooks/{hook['id']}/test")
        tested += [url] if answer.status_code != 400 else []
    await an_access_request(db)

    await post.deliver()

    assert tested == []
    assert dialled == []
    measured(f"{len(SPELLINGS)} spellings × http, https × create, update, test, send: {len(dialled)} connections")
    page = (await client.get("/api/webhook-deliveries")).json()
    assert page["totalCount"] == len(URLS)
    outcomes = [
        made["attempts"][0]["outcome"]
        for n in range(1, page["totalPages"] + 1)
        for made in await deliveries(client, page=n)
    ]
    assert len(outcomes) == len(URLS)
    # Internal names cannot be resolved here, so their outcome is `dns`.
    assert set(outcomes) == {"blocked", "dns"}
    assert outcomes.count("dns") == 2 * len([host for host in SPELLINGS if host.rstrip(".").endswith(INSIDE)])


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "8.8.8.8", "192.0.1.1", "100.63.255.255", "172.32.0.1", "2606:4700::1111", "2a00::1"]
)
def test_public_addresses_are_accepted(address: str) -> None:
    assert not address_check.is_refused(address, ())


@pytest.mark.usefixtures("names")
async def test_dns_rebinding_after_saving_is_blocked(
    client: httpx2.AsyncClient, db: Db, post: Post, names: dict[str, Any], dialled: list[Any]
) -> None:
    names["rebind.example.com"] = ["93.184.216.34"]
    await a_hook(client, "https://rebind.example.com/")
    await an_access_request(db)

    for inside in ("127.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1"):
        names["rebind.example.com"] = [inside]
        (made,) = await deliveries(client)
        await client.post(f"/api/webhook-deliveries/{made['id']}/resend")
        await post.deliver()

    (made,) = await deliveries(client)
    assert [attempt["outcome"] for attempt in made["attempts"]] == ["blocked"] * 4
    assert [(a["statusCode"], a["response"]) for a in made["attempts"]] == [(None, None)] * 4
    assert dialled == []


@pytest.mark.usefixtures("names")
async def test_only_the_allowed_address_of_a_name_is_contacted(
    client: httpx2.AsyncClient, names: dict[str, Any], db: Db, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    names["two.example.com"] = ["93.184.216.34"]
    await a_hook(client, "https://two.example.com/")
    await an_access_request(db)
    names["two.example.com"] = ["127.0.0.1", "93.184.216.34", "10.0.0.1"]
    dialled = []

    class Unreachable(socket.socket):
        def connect(self, address: Any) -> None:
            dialled.append(address[0])
            raise OSError(errno.ENETUNREACH, "unreachable")

    monkeypatch.setattr(dialing, "make_socket", Unreachable)
    await post.deliver()

    assert set(dialled) == {"93.184.216.34"}
    answer = await client.post(
        "/api/webhooks", json={"name": "Two", "url": "https://two.example.com/", "events": EVENTS}
    )
    assert answer.status_code == 400


@pytest.mark.usefixtures("names")
async def test_plain_http_is_sent_only_to_allowed_networks(
    client: httpx2.AsyncClient, db: Db, post: Post, names: dict[str, Any], dialled: list[Any]
) -> None:
    names["plain.example.com"] = ["93.184.216.34"]
    answer = await client.post(
        "/api/webhooks", json={"name": "P", "url": "http://plain.example.com/", "events": EVENTS}
    )
    assert answer.json()["errors"] == [{"field": "url", "message": "URL must start with https://"}]
    await a_hook(client, "https://plain.example.com/")
    await execute(db, "UPDATE webhooks SET url = 'http://plain.example.com/'")
    await an_access_request(db)

    await post.deliver()

    (made,) = await deliveries(client)
    assert made["attempts"][0]["outcome"] == "blocked"
    assert dialled == []


class TestOpened:
    """Test with 127.0.0.0/8 allowed, as in most webhook tests."""

    @pytest.fixture
    def config(self, config: Config) -> Config:
        return msgspec.structs.replace(config, webhook_allow=(IPv4Network("127.0.0.0/8"),))

    @pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "[::ffff:127.0.0.1]", "１２７.０.０.１"])
    async def test_allowed_addresses_can_be_reached(
        self, client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post, host: str
    ) -> None:
        await a_hook(client, receiver.url.replace("127.0.0.1", host))
        await an_access_request(db)

        await post.deliver()

        (made,) = await deliveries(client)
        assert made["attempts"][0]["outcome"] == "delivered"

    @pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "[::1]"])
    async def test_other_addresses_stay_blocked(self, client: httpx2.AsyncClient, host: str) -> None:
        answer = await client.post("/api/webhooks", json={"name": "X", "url": f"https://{host}/", "events": EVENTS})

        assert answer.status_code == 400

    async def test_a_redirect_is_not_followed(
        self, client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
    ) -> None:
        async def redirect(request: web.Request) -> web.StreamResponse:
            return web.Response(status=307, headers={"Location": f"{receiver.url}?followed"})

        receiver.answer = redirect
        await a_hook(client, receiver.url)
        await an_access_request(db)

        await post.deliver()

        (made,) = await deliveries(client)
        assert (made["attempts"][0]["outcome"], made["attempts"][0]["statusCode"]) == ("status", 307)
        assert len(receiver.received) == 1

    async def test_proxy_settings_of_the_environment_are_ignored(
        self, client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        await a_hook(client, receiver.url)
        await an_access_request(db)

        await post.deliver()

        assert len(receiver.received) == 1

    @pytest.mark.usefixtures("names")
    @pytest.mark.parametrize(
        ("fault", "outcome"),
        [
            ("refused", "connect"),
            ("hangs up", "connect"),
            ("hangs", "timeout"),
            ("no such name", "dns"),
            ("no HTTP", "connect"),
        ],
    )
    async def test_only_the_kind_of_a_failure_is_reported(
        self,
        client: httpx2.AsyncClient,
        db: Db,
        receiver: Receiver,
        post: Post,
        names: dict[str, Any],
        monkeypatch: pytest.MonkeyPatch,
        fault: str,
        outcome: str,
    ) -> None:
        monkeypatch.setattr(outgoing, "ATTEMPT_TAKES", dt.timedelta(seconds=0.5))
        receiver.answer = hang if fault == "hangs" else hang_up
        names["gone.example.com"] = ["93.184.216.34"]
        garbage = await asyncio.start_server(greet_as_mail, "127.0.0.1", 0)
        url = {
            "refused": "http://127.0.0.1:1/",
            "no such name": "https://gone.example.com/",
            "no HTTP": f"http://127.0.0.1:{garbage.sockets[0].getsockname()[1]}/",
        }.get(fault, receiver.url)
        await a_hook(client, url)
        names.clear()
        await an_access_request(db)

        await post.deliver()

        (made,) = await deliveries(client)
        (attempt,) = made["attempts"]
        assert (attempt["outcome"], attempt["statusCode"], attempt["response"]) == (outcome, None, None)
        garbage.close()

    async def test_invalid_certificate_is_rejected(
        self, client: httpx2.AsyncClient, db: Db, post: Post, tmp_path: Path
    ) -> None:
        context = self_signed(tmp_path)
        server = await asyncio.start_server(lambda _, __: None, "127.0.0.1", 0, ssl=context)
        await a_hook(client, f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        await an_access_request(db)

        await post.deliver()

        (made,) = await deliveries(client)
        assert made["attempts"][0]["outcome"] == "tls"
        server.close()

    async def test_response_that_ends_after_its_status_counts_as_delivered(
        self, client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
    ) -> None:
        async def break_off(request: web.Request) -> web.StreamResponse:
            answer = web.StreamResponse(status=200, headers={"Content-Length": "1000"})
            await answer.prepare(request)
            await answer.write(b"some")
            assert request.transport
            request.transport.close()
            return answer

        receiver.answer = break_off
        await a_hook(client, receiver.url)
        await an_access_request(db)

        await post.deliver()

        (made,) = await deliveries(client)
        assert (made["attempts"][0]["outcome"], made["attempts"][0]["response"]) == ("delivered", "some")


async def greet_as_mail(_: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
    out.write(b"220 mail ready\r\n\r\n")
    out.close()


def self_signed(folder: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    file = folder / "receiver.pem"
    file.write_bytes(pem + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
