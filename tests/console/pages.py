"""Parse pages like a browser without JavaScript: forms and the fields that they send."""

from html.parser import HTMLParser
from typing import Any

import msgspec

Attributes = dict[str, str]
# Checkboxes that `forms_of` ticks, because their forms require it: the duties of a rule, and a signature.
_TICKED = ("conflicts", "signed")
# Skip buttons with these attributes: scripts show them, or they have a URL of their own.
_SKIPPED = {"hidden", "formaction"}


class Field(msgspec.Struct):
    name: str
    value: str
    kind: str


class Form(msgspec.Struct):
    action: str
    method: str
    id: str
    is_upload: bool = False
    fields: list[Field] = []
    files: list[str] = []
    # A form is submitted by one of its buttons.
    buttons: list[Field | None] = []


class _Reader(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.url, self.forms, self.outside = url, list[Form](), list[tuple[str, Field]]()
        self.open: Form | None = None
        self.select: Attributes | None = None
        self.options = list[tuple[str, bool]]()
        self.option: str | None = None
        self.area: Field | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        match tag:
            case "form":
                method = given.get("method", "get").upper()
                action = given.get("action", self.url)
                upload = given.get("enctype") == "multipart/form-data"
                self.open = Form(action, method, given.get("id", ""), upload)
                self.forms.append(self.open)
            case "input":
                self._input(given)
            case "button" if self.open and given.get("type") == "submit" and not _SKIPPED & given.keys():
                named = Field(given["name"], given["value"], "button") if "name" in given else None
                self.open.buttons.append(named)
            case "textarea":
                self.area = Field(given["name"], "", "textarea")
            case "select":
                self.select, self.options = given, []
            case "option":
                self.options.append((given.get("value", ""), "selected" in given))
                self.option = None if "value" in given else ""

    def _input(self, given: Attributes) -> None:
        kind = given.get("type", "text")
        if kind == "file" and self.open:
            self.open.files.append(given["name"])
        elif kind not in ("checkbox", "radio") or {"checked", "form"} & given.keys() or given.get("name") in _TICKED:
            self._add(Field(given["name"], given.get("value", "on" if kind == "checkbox" else ""), kind), given)

    def _add(self, field: Field, given: Attributes) -> None:
        if "form" in given:
            self.outside.append((given["form"], field))
        elif self.open:
            self.open.fields.append(field)

    def handle_data(self, data: str) -> None:
        if self.area:
            self.area.value += data
        if self.option is not None:
            self.option += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.open = None
        elif tag == "textarea" and self.area:
            self._add(self.area, {})
            self.area = None
        elif tag == "option" and self.option is not None:
            self.options[-1] = (self.option, self.options[-1][1])
            self.option = None
        elif tag == "select" and self.select:
            chosen = [value for value, is_selected in self.options if is_selected] or [self.options[0][0]]
            self._add(Field(self.select["name"], chosen[0], "select"), {})
            self.select = None


def forms_of(url: str, text: str) -> list[Form]:
    """Return the forms of a page, including fields outside the form element, such as the checkbox of a row."""
    reader = _Reader(url)
    reader.feed(text)
    for id, field in reader.outside:
        next(form for form in reader.forms if form.id == id).fields.append(field)
    return reader.forms


def filled(form: Form, button: Field | None, values: dict[str, str]) -> dict[str, Any]:
    """Return the fields of the form. Fill empty fields from `values`, except selects, which send only their options."""
    sent: dict[str, Any] = {}
    for field in [*form.fields, *([button] if button else [])]:
        typed = "" if field.kind == "select" else values.get(field.name.rpartition(".")[2], "")
        sent.setdefault(field.name, []).append(field.value or typed)
    return sent
