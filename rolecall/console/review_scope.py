"""Convert the scope of a review to fields of a form, with records by name, and back to the body of the API."""

from collections.abc import Mapping
from typing import Any

import msgspec

from rolecall.console import queries as console
from rolecall.console.forms import filled, first, given
from rolecall.console.inputs import Form
from rolecall.console.picking import is_searched
from rolecall.console.record_choices import NamedRecord, records_of
from rolecall.core.checking import Json
from rolecall.core.db import Db
from rolecall.core.ids import guid
from rolecall.entitlements import queries as entitlements
from rolecall.entitlements.shapes import EntitlementItem
from rolecall.identities.model import IdentityType
from rolecall.identities.queries import departments
from rolecall.reviews.model import ReviewScope
from rolecall.settings.policy import Level

# The lists of a scope. The form does not show the last two; it keeps their values, which only the API can set.
_LISTS = (
    *("applicationIds", "departments", "identityTypes", "entitlementIds", "modelIds"),
    *("identityIds", "entitlementOwnerIds"),
)
# The form field that shows the problems of each part of the scope.
PLACES = {f"scope.{name}": name for name in (*_LISTS, "minRisk")}


class FoundEntitlements(msgspec.Struct, frozen=True):
    """The results of a search for `words`; `message` gives advice if there are none."""

    words: str
    choices: list[EntitlementItem]
    message: str


def fields_of_scope(scope: ReviewScope | Mapping[str, Any]) -> Form:
    raw = msgspec.to_builtins(scope) if isinstance(scope, ReviewScope) else scope
    lists = {name: [str(one) for one in raw.get(name) or []] for name in _LISTS}
    return {**lists, "minRisk": [str(raw.get("minRisk") or "")]}


def scope_of(form: Form) -> Json:
    """Return the scope that the form describes, in the format of the API."""
    return {**{name: list(dict.fromkeys(filled(form, name))) for name in _LISTS}, **given(form, "minRisk")}


def is_search(form: Form) -> bool:
    """Return whether the form requests a search for groups and permissions; the form is then shown with the results."""
    return bool(first(form, "search")) or is_searched(form)


async def scope_choices(db: Db, form: Form) -> dict[str, Any]:
    chosen = [id for text in form.get("entitlementIds", []) if (id := guid(text))]
    return {
        "applications": await console.live_applications(db),
        "departments": await departments(db),
        "risks": [level for level in Level if level is not Level.NONE],
        "kinds": list(IdentityType),
        "models": await records_of(db, NamedRecord.MODEL),
        "entitlements": list((await entitlements.by_id(db, chosen)).values()),
        "found": await _found(db, form) if is_search(form) else None,
        **{f"chosen_{name}": filled(form, name) for name in _LISTS},
    }


async def _found(db: Db, form: Form) -> FoundEntitlements:
    """Find groups and permissions by a part of their names, in the chosen applications or in all.

    Leave out entitlements that the scope already contains.
    """
    words = first(form, "find")
    if not words:
        return FoundEntitlements("", [], "Type part of the name")
    places = {id for text in form.get("applicationIds", []) if (id := guid(text))}
    chosen = {id for text in form.get("entitlementIds", []) if (id := guid(text))}
    found = await entitlements.suggested(db, places, words, chosen)
    where = " of the chosen applications" if places else ""
    advice = f"No other group or permission{where} has this text in its name. Search for another part of the name"
    return FoundEntitlements(words, found, "" if found else advice)
