"""Connect a live system: create its application with a connector, and map the columns of its records to fields."""

from typing import Any
from urllib.parse import quote
from uuid import UUID

import msgspec
from litestar.handlers import HTTPRouteHandler

from rolecall.applications import actions, queries
from rolecall.applications.model import FIELDS, Content
from rolecall.applications.shapes import FileGroupConfiguration
from rolecall.console.answers import HtmlPage, SeeOther, sentence
from rolecall.console.forms import first, given, problems_by_field, shown, with_people
from rolecall.console.frame import screen
from rolecall.console.inputs import Form
from rolecall.console.live_systems import IDENTITIES, LIVE_SYSTEMS
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.core.ids import known_guid

_SCOPE = Scope.CONFIG_MANAGE
_COLUMNS = "/applications/{id:str}/columns"
# Empty rows for more columns: without JavaScript, a form cannot add rows.
_EMPTY_ROWS = 3


@screen("GET", "/applications/connect", scope=_SCOPE)
async def show_connect_form() -> HtmlPage:
    return _connect_form({"system": [LIVE_SYSTEMS[0].name]}, {})


def _connect_form(form: Form, problems: dict[str, str]) -> HtmlPage:
    values = {"form": shown(form), "problems": problems, "systems": LIVE_SYSTEMS}
    return HtmlPage("connect.html", values, 400 if problems else 200)


@screen("POST", "/applications/connect", scope=_SCOPE)
async def connect_system(db: Db, caller: Caller, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    system = next((each for each in LIVE_SYSTEMS if each.name == first(form, "system")), None)
    if system is None:
        return _connect_form(form, {"system": "Choose the system"})
    is_identity_source = first(form, "isIdentitySource") == "yes"
    files = [IDENTITIES] if is_identity_source else system.file_groups()
    try:
        async with db.transaction():
            raw = given(await with_people(db, form, "ownerId"), "name", "ownerId")
            connector = {"name": system.name, "vendor": "", "files": files}
            raw |= {"isIdentitySource": is_identity_source, "connector": connector}
            id = await actions.create_application(db, raw, facts, caller)
    except Invalid as error:
        return _connect_form(form, problems_by_field(error))
    said = f"{first(form, 'name')} was created. Now set up the source of its records."
    return SeeOther(f"/applications/{id}/source?kind={quote(system.kind)}", said)


class ColumnsOfContent(msgspec.Struct, frozen=True):
    """The columns of one kind of content in a file group; `key` is part of the names of the form fields."""

    key: str
    file_group: str
    content: Content
    rows: list[tuple[str, str]]


@screen("GET", _COLUMNS, scope=_SCOPE)
async def show_columns(db: Db, id: str) -> HtmlPage:
    return await _columns_page(db, known_guid("Application", id))


async def _columns_page(db: Db, id: UUID, form: Form | None = None, problem: str = "") -> HtmlPage:
    application = await queries.get(db, id)
    configured = (await queries.configuration(db, id)).connector
    files = (configured and configured.files) or []
    mapped = [each for at, file in enumerate(files) for each in _mapped(at, file, form)]
    values = {"application": application, "mapped": mapped, "fields": FIELDS, "problem": problem}
    return HtmlPage("columns.html", values, 400 if problem else 200)


def _mapped(at: int, file: FileGroupConfiguration, form: Form | None) -> list[ColumnsOfContent]:
    further = (file.shape.contents or ()) if file.shape else ()
    columns = [(file.content, file.columns), *((each.content, each.columns) for each in further)]
    found = []
    for part, (content, current) in enumerate(columns):
        key = f"{at}.{part}"
        rows = list((_sent(form, key) if form else current).items())
        found.append(ColumnsOfContent(key, file.name, content, rows + [("", "")] * _EMPTY_ROWS))
    return found


def _sent(form: Form, key: str) -> dict[str, str]:
    """Return the mapping of columns to fields, which the form sends as `column.KEY.ROW` and `field.KEY.ROW`."""
    start = f"column.{key}."
    rows = {name.removeprefix(start): first(form, name).strip() for name in form if name.startswith(start)}
    fields = {column: first(form, f"field.{key}.{row}") for row, column in rows.items()}
    return {column: field for column, field in fields.items() if column and field}


@screen("POST", _COLUMNS, scope=_SCOPE)
async def change_columns(db: Db, caller: Caller, id: str, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    application_id = known_guid("Application", id)
    configured = (await queries.configuration(db, application_id)).connector
    # The connector is replaced as a whole, so send all of it with the changed columns.
    connector: Any = msgspec.to_builtins(configured)
    for at, file in enumerate((connector and connector["files"]) or ()):
        file["columns"] = _sent(form, f"{at}.0")
        for part, each in enumerate(_further(file), 1):
            each["columns"] = _sent(form, f"{at}.{part}")
    try:
        async with db.transaction():
            await actions.change_application(db, application_id, {"connector": connector}, facts, caller)
    except Invalid as error:
        return await _columns_page(db, application_id, form, sentence(error))
    return SeeOther(f"/applications/{id}/columns", "The columns were saved. They apply to the next import.")


def _further(file: Json) -> list[Json]:
    return (file.get("shape") or {}).get("contents") or []


HANDLERS: list[HTTPRouteHandler] = [show_connect_form, connect_system, show_columns, change_columns]
