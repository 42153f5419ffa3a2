"""Sign in through an OpenID provider with the authorization code flow and PKCE.

This module is imported only if a provider is configured, to keep start-up fast. The metadata and keys of the provider
are cached for an hour. If the signature of a token cannot be verified, the keys are fetched again.
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

from rolecall.console.model import SignInAttempt
from rolecall.core.config import Config
from rolecall.core.errors import RateLimited

CALLBACK = "/sign-in/oidc/callback"
_DISCOVERY = "/.well-known/openid-configuration"
_KEPT_FOR = timedelta(hours=1)
# The tolerated difference between the clocks of the provider and this service.
_LEEWAY_SECONDS = 60
_TIMEOUT = aiohttp.ClientTimeout(total=8)
_MOST_BYTES = 1024 * 1024
# Allow only asymmetric algorithms: with HS256 the published key would be enough to forge a token.
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
# Limit how many requests wait for the provider, because each of them holds a database connection.
_WAITING = asyncio.Semaphore(4)


class Unreachable(Exception):
    """The provider does not respond, or its response is invalid."""


class SignInRefused(Exception):
    """The provider rejected the sign-in, sent an invalid token, or has not verified the e-mail."""


class Published(msgspec.Struct):
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    # OpenID Connect Discovery defines this default, for providers that publish no methods.
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class _Provider:
    def __init__(self, published: Published, keys: KeySet, since: datetime) -> None:
        self.published, self.keys, self.since = published, keys, since


_known: dict[str, _Provider] = {}


class EmailClaims(msgspec.Struct):
    """The claims about the e-mail in an ID token or userinfo response.

    Entra ID sends `xms_edov` instead of `email_verified`.
    """

    sub: str
    email: str = ""
    email_verified: bool | str | int = False
    xms_edov: bool | str | int = False

    @property
    def is_verified(self) -> bool:
        # Providers send true as a boolean, a string or a number (1 equals True).
        return bool(self.email) and any(word in (True, "true", "1") for word in (self.email_verified, self.xms_edov))


async def address_of_provider(config: Config, state: str, attempt: SignInAttempt, now: datetime) -> str:
    """Return the URL of the provider's sign-in page for this attempt."""
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
    # The endpoint may already have a query (RFC 6749, section 3.1).
    mark = "&" if urlsplit(published.authorization_endpoint).query else "?"
    return f"{published.authorization_endpoint}{mark}{urlencode(query)}"


async def verified_email(config: Config, attempt: SignInAttempt, code: str, now: datetime) -> str:
    """Redeem the code and return the verified e-mail of the person; raise SignInRefused if there is none."""
    provider = await _provider(config, now)
    answer = await _redeem(config, provider.published, attempt, code)
    claims = await _checked(config, provider, str(answer.get("id_token", "")), attempt, now)
    claimed = _read(EmailClaims, claims)
    if not claimed.email and (endpoint := provider.published.userinfo_endpoint):
        headers = {"Authorization": f"Bearer {answer.get('access_token', '')}"}
        userinfo = _read(EmailClaims, await _ask("GET", endpoint, headers=headers))
        # OpenID Connect requires clients to ignore a userinfo response about another subject.
        claimed = userinfo if userinfo.sub == claimed.sub else claimed
    if not claimed.is_verified:
        raise SignInRefused("Your provider has not verified your e-mail address")
    return claimed.email


async def _provider(config: Config, now: datetime) -> _Provider:
    assert config.oidc_issuer
    known = _known.get(config.oidc_issuer)
    if known and now - known.since < _KEPT_FOR:
        return known
    published = _read(Published, await _ask("GET", config.oidc_issuer.rstrip("/") + _DISCOVERY))
    # OpenID Connect Discovery requires this check, to prevent impersonation of the issuer.
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


async def _redeem(config: Config, published: Published, attempt: SignInAttempt, code: str) -> dict[str, Any]:
    id, secret = config.oidc_client_id or "", config.oidc_client_secret or ""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": config.base_url + CALLBACK,
        "code_verifier": attempt.verifier,
        "client_id": id,
    }
    if "client_secret_basic" in published.token_endpoint_auth_methods_supported:
        # RFC 6749, section 2.3.1: URL-encode the id and the secret first.
        headers = {"Authorization": aiohttp.encode_basic_auth(quote_plus(id), quote_plus(secret))}
        return await _ask("POST", published.token_endpoint, form, headers)
    return await _ask("POST", published.token_endpoint, {**form, "client_secret": secret})


async def _checked(
    config: Config, provider: _Provider, id_token: str, attempt: SignInAttempt, now: datetime
) -> dict[str, Any]:
    """Verify signature, issuer, audience, nonce and expiry of an ID token; return its claims."""
    for fresh in (False, True):
        if fresh:
            provider.keys = await _keys(provider.published)
        try:
            token = jwt.decode(id_token, provider.keys, algorithms=_ALGORITHMS)
            break
        except (JoseError, ValueError, TypeError, KeyError):
            # The provider may have rotated its keys.
            continue
    else:
        raise SignInRefused("The ID token is not signed by your provider")
    options: Any = {
        "iss": {"essential": True, "value": provider.published.issuer},
        "aud": {"essential": True, "value": config.oidc_client_id},
    }
    params = {"nonce": attempt.nonce, "client_id": config.oidc_client_id}
    claims = CodeIDToken(token.claims, token.header, options, params)
    try:
        claims.validate(int(now.timestamp()), _LEEWAY_SECONDS)
    except JoseError as error:
        raise SignInRefused("The ID token is not valid for this sign-in, or has expired") from error
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
            # A redirect could send the client secret to another host.
            session.request(method, url, data=form, headers=headers, allow_redirects=False) as answer,
        ):
            status, content = answer.status, b""
            async for chunk in answer.content.iter_any():
                content += chunk
                if len(content) > _MOST_BYTES:
                    raise Unreachable("its response is too long")
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
        raise Unreachable("it does not respond") from error
    # The token endpoint responds to an invalid or used code with a client error (RFC 6749, section 5.2).
    if method == "POST" and 400 <= status < 500:
        raise SignInRefused("Your provider did not accept the sign-in")
    if status != 200:
        raise Unreachable(f"it responded with {status}")
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise Unreachable("its response cannot be read") from error


T = TypeVar("T", bound=msgspec.Struct)


def _read(struct: type[T], answer: Mapping[str, Any]) -> T:
    try:
        return msgspec.convert(answer, struct)
    except msgspec.ValidationError as error:
        raise Unreachable(f"its response is invalid: {error}") from error
