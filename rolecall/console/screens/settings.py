from typing import Any
from uuid import UUID

import msgspec
from litestar.handlers import HTTPRouteHandler

from rolecall import __version__
from rolecall.console import actions as console
from rolecall.console import forms, queries, signing_in
from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.frame import screen
from rolecall.console.inputs import Form
from rolecall.core.caller import SCOPE_DESCRIPTIONS, Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid, NotFound
from rolecall.core.heartbeat import some_worker_lives
from rolecall.core.ids import known_guid
from rolecall.core.roles import Role
from rolecall.settings import actions, policy
from rolecall.settings import queries as settings
from rolecall.settings.model import CUSTOM_FIELDS
from rolecall.tokens import actions as tokens
from rolecall.tokens import queries as token_queries
from rolecall.tokens.keyring import KNOWN_FOR_SECONDS
from rolecall.tokens.model import DEFAULT_DAYS, DEFAULT_SCOPES

_CHOICES = {
    "actions": list(policy.RequestAction),
    "eventTypes": list(policy.EventType),
    "priorities": list(policy.Level),
    "risks": list(policy.Level),
}


_NUMBERS = ("approvalLeadDays", "webhookRetentionDays")
# The id of the settings in the audit.
_SETTINGS = UUID(int=0)


@screen("GET", "/settings", scope=Scope.CONFIG_MANAGE)
async def show_settings(db: Db, config: Config) -> HtmlPage:
    return await _settings_page(db, config)


async def _current(db: Db) -> Form:
    known = await settings.get(db)
    return {
        "approvalLeadDays": [str(known.approval_lead_days)],
        "webhookRetentionDays": [str(known.webhook_retention_days)],
        "singleHanded": ["yes" if known.single_handed else ""],
        **{f"guard.{name}": [f"{value:g}"] for name, value in msgspec.to_builtins(known.guard).items()},
        **{f"enabled.{one.number}": ["yes" if one.enabled else ""] for one in known.custom_fields},
        **{f"label.{one.number}": [one.label] for one in known.custom_fields},
    }


class _RejectedForm(msgspec.Struct, frozen=True):
    """A form that is shown again with its problems or a conflicting edit."""

    form: Form = {}
    problems: dict[str, str] = {}
    late: forms.EditConflict | None = None


_FRESH = _RejectedForm()


async def _settings_page(
    db: Db, config: Config, general: _RejectedForm = _FRESH, added: _RejectedForm = _FRESH
) -> HtmlPage:
    known, current = await settings.get(db), await _current(db)
    shown_form = general.form or {**current, "version": [forms.version_of(current)]}
    people = [rule.identity_id for rule in known.approval_policy if rule.identity_id]
    return HtmlPage(
        "settings.html",
        {
            "policy": [(rule, forms.version_of(rule)) for rule in known.approval_policy],
            "form": forms.shown(shown_form),
            "problems": general.problems,
            "late": general.late,
            "added": forms.shown(added.form),
            "added_conditions": {name: added.form.get(name, []) for name in _CHOICES},
            "added_problems": added.problems,
            "names": await queries.people_names(db, people),
            "types": list(policy.RequirementType),
            "responders": list(policy.Responder),
            "choices": _CHOICES,
            "version": __version__,
            "config": config,
            "worker_lives": await some_worker_lives(db),
        },
        409 if general.late else 400 if general.problems or added.problems else 200,
    )


@screen("POST", "/settings", scope=Scope.CONFIG_MANAGE)
async def change_settings(db: Db, form: Form, facts: Facts, config: Config) -> HtmlPage | SeeOther:
    if late := await forms.edit_conflict(db, forms.first(form, "version"), _SETTINGS, _current(db)):
        return await _settings_page(db, config, _RejectedForm({**form, "version": [late.version]}, late=late))
    fields = [
        {"number": n, "enabled": forms.first(form, f"enabled.{n}") == "yes", "label": forms.first(form, f"label.{n}")}
        for n in CUSTOM_FIELDS
    ]
    numbers = {name: forms.integer(forms.first(form, name)) for name in _NUMBERS}
    numbers["singleHanded"] = forms.first(form, "singleHanded") == "yes"
    try:
        async with db.transaction():
            await actions.change_settings(
                db, {"customFields": fields, "guard": forms.guard_in(form) or None, **numbers}, facts
            )
    except Invalid as error:
        return await _settings_page(db, config, _RejectedForm(form, forms.problems_by_field(error)))
    return SeeOther("/settings", "The settings were saved")


@screen("POST", "/settings/policy", scope=Scope.CONFIG_MANAGE)
async def add_rule(db: Db, form: Form, facts: Facts, config: Config) -> HtmlPage | SeeOther:
    try:
        async with db.transaction():
            rule = forms.given(
                await forms.with_people(db, form, "identityId"), "type", "reason", "responder", "identityId"
            )
            rule |= {name: form.get(name, []) for name in _CHOICES}
            await actions.change_policy(db, lambda rules: [*rules, rule], facts)
    except Invalid as error:
        # Keep only the last part of a field: approvalPolicy.3.reason contains the position of the new rule.
        problems = {field.rpartition(".")[2]: said for field, said in forms.problems_by_field(error).items()}
        return await _settings_page(db, config, added=_RejectedForm(form, problems))
    return SeeOther("/settings#policy", "The rule was added")


@screen("POST", "/settings/policy/remove", scope=Scope.CONFIG_MANAGE)
async def remove_rule(db: Db, form: Form, facts: Facts) -> SeeOther:
    """Remove the rule at an index; raise Invalid if it is no longer the rule that the page showed."""
    place, version = forms.integer(forms.first(form, "place")), forms.first(form, "version")

    def without(rules: list[Json]) -> list[Json]:
        if not isinstance(place, int) or place >= len(rules) or forms.version_of(rules[place]) != version:
            raise Invalid.on("place", "The approval policy was changed in the meantime. Check the rules and try again")
        return rules[:place] + rules[place + 1 :]

    await actions.change_policy(db, without, facts)
    return SeeOther("/settings#policy", "The rule was removed")


@screen("GET", "/settings/tokens", scope=Scope.TOKENS_MANAGE)
async def show_tokens(db: Db, query: dict[str, Any]) -> HtmlPage:
    form: Form = {"expiresInDays": [str(DEFAULT_DAYS)], "scopes": [str(scope) for scope in DEFAULT_SCOPES]}
    return await _tokens_page(db, query["page"], form, {})


async def _tokens_page(db: Db, page: int, form: Form, problems: dict[str, str]) -> HtmlPage:
    values = {
        "page": await token_queries.newest_first(db, page),
        "query": {"page": page},
        "form": forms.shown(form),
        "chosen": form.get("scopes", []),
        "scopes": SCOPE_DESCRIPTIONS,
        "problems": problems,
    }
    return HtmlPage("tokens.html", values, 400 if problems else 200)


@screen("POST", "/settings/tokens", scope=Scope.TOKENS_MANAGE)
async def create_token(db: Db, caller: Caller, form: Form, facts: Facts) -> HtmlPage:
    days = forms.first(form, "expiresInDays")
    raw = {
        **forms.given(form, "name"),
        "scopes": form.get("scopes", []),
        "expiresInDays": forms.integer(days) if days else None,
    }
    try:
        async with db.transaction():
            token = await tokens.create_token(db, caller, raw, facts)
    except Invalid as error:
        return await _tokens_page(db, 1, form, forms.problems_by_field(error))
    # Do not redirect: only this response contains the secret.
    said = {"what": f"Secret of {token.name}", "secret": token.secret, "href": "/settings/tokens"}
    return HtmlPage("secret.html", said)


@screen(
    "POST",
    "/settings/tokens/{id:str}/revoke",
    scope=Scope.TOKENS_MANAGE,
    # After this delay no process accepts the token (tokens/keyring.py).
    delay_seconds=KNOWN_FOR_SECONDS,
    revokes=True,
)
async def revoke_token(db: Db, id: str, facts: Facts) -> SeeOther:
    await tokens.revoke_token(db, known_guid("Token", id), facts.now)
    return SeeOther("/settings/tokens", "The token was revoked. Requests that use it are refused from now on.")


@screen("GET", "/settings/people", scope=Scope.CONFIG_MANAGE)
async def show_people(db: Db) -> HtmlPage:
    return HtmlPage("people_and_roles.html", {"people": await signing_in.console_people(db), "roles": list(Role)})


@screen("POST", "/settings/people", scope=Scope.CONFIG_MANAGE, revokes=True)
async def set_role(db: Db, form: Form, facts: Facts) -> SeeOther:
    """Set the role of a person; an empty role removes it."""
    named = await forms.with_people(db, form, "identityId")
    id = known_guid("Identity", forms.first(named, "identityId"))
    word = forms.first(form, "role")
    if word and word not in set(Role):
        raise Invalid.on("role", f"Role must be one of {', '.join(Role)}, or empty")
    role = Role(word) if word else None
    await console.set_role(db, id, role, forms.first(form, "email") or None)
    name = (await queries.people_names(db, [id])).get(id)
    if name is None:
        raise NotFound("Identity", id)
    said = f"{name} is {role}" if role else f"{name} has no role now and sees only their own records"
    lost = [token.name for token in await token_queries.with_refused_scopes(db, facts.now) if token.owner_id == id]
    return SeeOther("/settings/people", f"{said}. API tokens with refused scopes: {', '.join(lost)}" if lost else said)


@screen("POST", "/settings/people/{id:str}/link", scope=Scope.CONFIG_MANAGE)
async def make_link(db: Db, id: str, facts: Facts, config: Config) -> HtmlPage:
    person: UUID = known_guid("Identity", id)
    secret = await console.create_link(db, person, facts.now)
    name = (await queries.people_names(db, [person])).get(person, "")
    link = f"{config.base_url}/sign-in/{secret}"
    return HtmlPage(
        "secret.html", {"what": f"One-time sign-in link for {name}", "secret": link, "href": "/settings/people"}
    )


HANDLERS: list[HTTPRouteHandler] = [
    show_settings,
    change_settings,
    add_rule,
    remove_rule,
    show_tokens,
    create_token,
    revoke_token,
    show_people,
    set_role,
    make_link,
]
