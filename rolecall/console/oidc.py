"""Signing in through an OpenID provider: the authorization code flow with PKCE.

Loaded by who signs in this way. What the provider publishes is kept for an hour; a signature by a key that is not
among those kept asks for them again.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import quote_plus, urlencode, urlsplit

import aiohttp
import msgspec
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from rolecall.console.model import Attempt
from rolecall.core.config import Config
from rolecall.core.errors import RateLimited

CALLBACK = "/sign-in/oidc/callback"
_DISCOVERY = "/.well-known/openid-configuration"
_KEPT_FOR = timedelta(hours=1)
_LEEWAY_SECONDS = 60
_TIMEOUT = aiohttp.ClientTimeout(total=8)
_MOST_BYTES = 1024 * 1024
# Signed with a private key: whoever knows only what the provider publishes can make none of these.
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
# A request keeps its connection to the database while it waits for the provider: few at once.
_WAITING = asyncio.Semaphore(4)


class Unreachable(Exception):
    """The provider does not answer, or not as one does."""


class Refused(Exception):
    """The provider, or what it said, does not let this person in."""


class Published(msgspec.Struct):
    """What a provider tells about itself."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class _Provider:
    def __init__(self, published: Published, keys: KeySet, since: datetime) -> None:
        self.published, self.keys, self.since = published, keys, since


_known: dict[str, _Provider] = {}


class Vouched(msgspec.Struct):
    """What an id token or the provider's answer about a person says of the e-mail; Entra ID has a claim of its own."""

    sub: str
    email: str = ""
    email_verified: bool | str | int = False
    xms_edov: bool | str | int = False

    @property
    def is_verified(self) -> bool:
        return bool(self.email) and any(word in (True, "true", "1") for word in (self.email_verified, self.xms_edov))


async def address_of_provider(config: Config, state: str, attempt: Attempt, now: datetime) -> str:
    """Where the browser goes to sign in."""
    published = (await _provider(config, now)).published
    query = {
        "response_type": "code",
        "client_id": config.oidc_client_id,
        "redirect_uri": config.base_url + CALLBACK,
        "scope": "openid email profile",
        "state": state,
        "nonce": attempt.nonce,
        "code_challenge": create_s256_code_challenge(attempt.verifier),
        "code_challenge_method": "S256",
    }
    mark = "&" if urlsplit(published.authorization_endpoint).query else "?"
    return f"{published.authorization_endpoint}{mark}{urlencode(query)}"


async def verified_email(config: Config, attempt: Attempt, code: str, now: datetime) -> str:
    """Of the person whom the provider has signed in."""
    provider = await _provider(config, now)
    answer = await _redeem(config, provider.published, attempt, code)
    claims = await _checked(config, provider, str(answer.get("id_token", "")), attempt, now)
    vouched = _read(Vouched, claims)
    if not vouched.email and (endpoint := provider.published.userinfo_endpoint):
        headers = {"Authorization": f"Bearer {answer.get('access_token', '')}"}
        told = _read(Vouched, await _ask("GET", endpoint, headers=headers))
        vouched = told if told.sub == vouched.sub else vouched
    if not vouched.is_verified:
        raise Refused("Your provider does not vouch for your e-mail address")
    return vouched.email


async def _provider(config: Config, now: datetime) -> _Provider:
    assert config.oidc_issuer
    known = _known.get(config.oidc_issuer)
    if known and now - known.since < _KEPT_FOR:
        return known
    published = _read(Published, await _ask("GET", config.oidc_issuer.rstrip("/") + _DISCOVERY))
    if published.issuer != config.oidc_issuer:
        raise Unreachable(f"it calls itself {published.issuer}, not {config.oidc_issuer}")
    provider = _Provider(published, await _keys(published), now)
    _known[config.oidc_issuer] = provider
    return provider


async def _keys(published: Published) -> KeySet:
    try:
        return KeySet.import_key_set(await _ask("GET", published.jwks_uri))  # type: ignore[arg-type]
    except (JoseError, KeyError, ValueError, TypeError) as error:
        raise Unreachable("its keys cannot be read") from error


async def _redeem(config: Config, published: Published, attempt: Attempt, code: str) -> dict[str, Any]:
    id, secret = config.oidc_client_id or "", config.oidc_client_secret or ""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": config.base_url + CALLBACK,
        "code_verifier": attempt.verifier,
        "client_id": id,
    }
    if "client_secret_basic" in published.token_endpoint_auth_methods_supported:
        headers = {"Authorization": aiohttp.encode_basic_auth(quote_plus(id), quote_plus(secret))}
        return await _ask("POST", published.token_endpoint, form, headers)
    return await _ask("POST", published.token_endpoint, {**form, "client_secret": secret})


async def _checked(
    config: Config, provider: _Provider, id_token: str, attempt: Attempt, now: datetime
) -> dict[str, Any]:
    """The claims of an id token that was made by this provider, for us, for this attempt, just now."""
    for fresh in (False, True):
        if fresh:
            provider.keys = await _keys(provider.published)
        try:
            token = jwt.decode(id_token, provider.keys, algorithms=_ALGORITHMS)
            break
        except (JoseError, ValueError, TypeError, KeyError):
            # The provider may have changed its keys.
            continue
    else:
        raise Refused("What your provider said is not signed by it")
    options: Any = {
        "iss": {"essential": True, "value": provider.published.issuer},
        "aud": {"essential": True, "value": config.oidc_client_id},
    }
    params = {"nonce": attempt.nonce, "client_id": config.oidc_client_id}
    claims = CodeIDToken(token.claims, token.header, options, params)
    try:
        claims.validate(int(now.timestamp()), _LEEWAY_SECONDS)
    except JoseError as error:
        raise Refused("What your provider said is not meant for this sign-in, or too old") from error
    return dict(claims)


async def _ask(
    method: str, url: str, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    if _WAITING.locked():
        raise RateLimited(1)
    try:
        async with (
            _WAITING,
            aiohttp.ClientSession(timeout=_TIMEOUT, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.request(method, url, data=form, headers=headers, allow_redirects=False) as answer,
        ):
            status, content = answer.status, b""
            async for chunk in answer.content.iter_any():
                content += chunk
                if len(content) > _MOST_BYTES:
                    raise Unreachable("its answer is too long")
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
        raise Unreachable("it does not answer") from error
    if method == "POST" and 400 <= status < 500:
        raise Refused("Your provider did not accept the sign-in")
    if status != 200:
        raise Unreachable(f"it answers {status}")
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise Unreachable("its answer cannot be read") from error


T = TypeVar("T", bound=msgspec.Struct)


def _read(shape: type[T], answer: Mapping[str, Any]) -> T:
    try:
        return msgspec.convert(answer, shape)
    except msgspec.ValidationError as error:
        raise Unreachable(f"its answer is not what one expects: {error}") from error
