"""Run a small OpenID provider on loopback that signs with a real key; tests can configure wrong behaviour."""

import base64
import hashlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import escape
from typing import Any
from urllib.parse import parse_qsl, quote_plus, urlencode, urlsplit

import aiohttp
from aiohttp import web
from joserfc import jwt
from joserfc.jwk import RSAKey

from rolecall.core import clock
from tests.local_server import local_server

CLIENT_ID = "rolecall"
CLIENT_SECRET = "s3cret & sound"


class OpenIdProvider:
    def __init__(self) -> None:
        self.url = ""
        self.key = RSAKey.generate_key(2048, {"kid": "one"})
        self.signs_with = self.key
        self.email: str | None = "ada.admin@example.com"
        self.says: dict[str, Any] = {"email_verified": True}
        self.about_the_person: dict[str, Any] = {}
        self.knows_clients_by = "client_secret_basic"
        self.asked: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}

    async def discovery(self, _: web.Request) -> web.Response:
        self.asked.append("discovery")
        paths = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        found = {name: f"{self.url}/{path}" for name, path in paths.items()}
        found |= {"issuer": self.url, "userinfo_endpoint": f"{self.url}/userinfo"}
        return web.json_response({**found, "token_endpoint_auth_methods_supported": [self.knows_clients_by]})

    async def keys(self, _: web.Request) -> web.Response:
        self.asked.append("keys")
        return web.json_response({"keys": [self.key.as_dict(private=False)]})

    async def authorize(self, request: web.Request) -> web.Response:
        """Serve the sign-in page of the provider."""
        back = f"{request.query['redirect_uri']}?{urlencode(self.sign_in(str(request.url)))}"
        page = (
            f'<!doctype html><title>Provider</title><a href="{escape(back)}">Continue as {escape(self.email or "")}</a>'
        )
        return web.Response(text=page, content_type="text/html")

    def sign_in(self, location: str) -> dict[str, str]:
        """Sign in at the provider; return the query parameters of its redirect back to the service."""
        assert location.startswith(f"{self.url}/authorize?")
        asked = dict(parse_qsl(urlsplit(location).query))
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe()
        self._codes[code] = asked
        return {"code": code, "state": asked["state"], "iss": self.url}

    async def token(self, request: web.Request) -> web.Response:
        form = await request.post()
        asked = self._codes.pop(str(form["code"]), None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(str(form["code_verifier"]).encode()).digest())
        basic = aiohttp.encode_basic_auth(CLIENT_ID, quote_plus(CLIENT_SECRET))
        is_basic = self.knows_clients_by == "client_secret_basic"
        if (
            asked is None
            or challenge.decode().rstrip("=") != asked["code_challenge"]
            or request.headers.get("Authorization") != (basic if is_basic else None)
            or form.get("client_secret") != (None if is_basic else CLIENT_SECRET)
            or form["redirect_uri"] != asked["redirect_uri"]
        ):
            return web.json_response({"error": "invalid_grant"}, status=400)
        now = int(clock.now().timestamp())
        claims = {"iss": self.url, "sub": "1", "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        claims |= {"email": self.email} if self.email else {}
        id_token = jwt.encode({"alg": "RS256", "kid": "one"}, claims | self.says, self.signs_with)
        return web.json_response({"access_token": "at", "token_type": "Bearer", "id_token": id_token})

    async def userinfo(self, request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == "Bearer at"
        return web.json_response(self.about_the_person)


@asynccontextmanager
async def providing(name: str = "127.0.0.1") -> AsyncIterator[OpenIdProvider]:
    provider = OpenIdProvider()
    app = web.Application()
    app.router.add_get("/.well-known/openid-configuration", provider.discovery)
    app.router.add_get("/authorize", provider.authorize)
    app.router.add_get("/keys", provider.keys)
    app.router.add_post("/token", provider.token)
    app.router.add_get("/userinfo", provider.userinfo)
    async with local_server(app) as port:
        provider.url = f"http://{name}:{port}"
        yield provider
