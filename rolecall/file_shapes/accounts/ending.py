"""Find end dates. Read accounts and people as inactive after their last day, and ask about grants that have ended."""

import re

import polars as pl

from rolecall.application_imports.read.dates import DATE_TIMES, NAMED_DATES, are_past
from rolecall.applications.field_words import ACTIVE, NO_DATE
from rolecall.applications.file_shape import ANY_OTHER
from rolecall.core.text import fold, without_accents
from rolecall.file_shapes.choices import AS_PROPOSED, SEPARATOR, SKIP_ROWS
from rolecall.file_shapes.columns.header_names import is_feature, is_inverted, words_of
from rolecall.file_shapes.columns.profiles import EXCEL, Profile, is_date, is_serial
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice

_LAST_DAY = re.compile(
    # Names of database columns may have other words between end and date, as in END_EFFECTIVE_DT_TM.
    r"(?<![^\W\d_])(?:end(?:ed|s)?|terminat[a-z]{0,40}|expir[a-z]{0,40})"
    r"(?:[ ._-]+(?:effective|eff|validity|valid|period|service|employment|contract|account|user)){0,2}"
    r"[ ._-]+(?:date|datetime|dt|dtm|dttm|day|tm|time|timestamp|ts)(?![a-z])|"
    r"(?:end|terminat[a-z]{0,40}|expir[a-z]{0,40}|leav[a-z]{0,40}|exit|separation)"
    r"[ ._-]*(?:date|day|on|at|time)(?![a-z])"
    r"|(?:valid|effective|active)[ ._-]*(?:to|until|through|thru|till)(?![a-z])|^(?:to|thru|until)[ ._-]*date$"
    r"|g(?:u|ue)ltig[ _-]*bis"
    r"|(?:account|access|membership|grant|assignment|role)[ _-]*expir"
    r"|^fecha[ _-]*(?:de[ _-]*)?(?:baja|cese|salida|fin|expiracion|vencimiento)$|^(?:valido|vigente)[ _-]*hasta$"
    r"|^(?:data|dt)[ _-]*(?:d[aeio][ _-]*)?(?:cessazione|fine rapporto|scadenza|saida|demissao|desligamento|rescisao)$"
    r"|^(?:data|dt)[ _-]*(?:d[aeio][ _-]*)?(?:expiracao|validade|vencimento|inativacao|fim)$"
    r"|^date[ _-]*(?:de[ _-]*)?(?:sortie|fin|depart|expiration)$|^valid[eoa][ _-]*(?:jusqu.au|fino[ _-]*al|ate)$"
    r"|^(?:datum[ _-]*)?uit[ _-]*dienst(?:datum)?$|^(?:eind|verval)datum$|^geldig[ _-]*tot$"
    r"|^data[ _-]*(?:zwolnienia|odejscia|zakonczenia(?: pracy)?|wygasniecia)$|^wazn[ey][ _-]*do$"
    r"|^(?:austritt(?:sdatum)?|ausgetreten|ausgeschieden|abgang)(?:[ _-]*am)?$"
    r"|^(?:end|ablauf)datum$|^befristet[ _-]*bis$"
    r"|^(?:gltgb|to_dat|enddt|acc(?:oun)?texpires|expires?|expiry|expiration|deactivates?)$",
    re.IGNORECASE,
)
# Headers of dates on which a grant was revoked.
_REVOKED = re.compile(
    r"(?:delet|revo[ck]|remov|withdr|cancel|deactivat|ended|unassign)[a-z]{0,40}"
    r"[ ._-]*(?:date|day|on|at|time)(?![a-z])",
    re.IGNORECASE,
)
# In Oracle and PostgreSQL, these columns contain the expiry date of the password.
_OF_PASSWORDS = re.compile(r"expiry_date|rolvaliduntil|valuntil", re.IGNORECASE)
_ACCESS = re.compile("access", re.IGNORECASE)
# Words in headers about grants, not about accounts.
_OF_GRANTS = {"resp", "responsibility", "role", "assignment", "grant", "membership", "group", "member", "access"}
_TEN_DIGITS = re.compile(r"[01]\d{9}")
_MONTH_TO_YEAR = "%m%d%H%M%y"
_INACTIVE = {"Active": "No", "Status": "Disabled"}


def end_after(view: View, part: Part, field: str) -> None:
    """Read accounts or people as inactive after their last day, if its date format is clear.

    Call this only if no column says who is active.
    """
    if (column := last_day(view)) is not None and (format := format_of(column)):
        part.shape.setdefault("join", {})[field] = f"{{{column.header}|past({format})}}"
        part.shape.setdefault("values", {})[field] = {ANY_OTHER: _INACTIVE[field]}
        part.evidence.append(f"{column.header} is the last day: rows with a date before today are not active")
    elif column is not None:
        part.evidence.append(
            f"{column.header} may be the last day, but its date format is not clear, so no status is read from it"
        )


def last_day_beside(view: View, part: Part, status: str) -> tuple[Profile, str] | None:
    """Return the column with the last day of accounts or people, and its date format; None if it cannot be used.

    If the format is unclear, or the date may be that of a password, name the column in the evidence.
    """
    column = last_day(view)
    format = format_of(column) if column else None
    if column is None or column.header == status:
        return None
    if format is None or _OF_PASSWORDS.fullmatch(column.header):
        part.evidence.append(f"{column.header} may be the last day of accounts; {status} alone says who is active")
        return None
    return column, format


def ended_beside(view: View, part: Part, field: str, status: str) -> None:
    """Read accounts or people as inactive after their last day.

    If the last day of some has passed, but their status does not mean inactive, ask whether they are still active. If
    the order of day and month is not clear, ask for the order instead.
    """
    if (found := last_day_beside(view, part, status)) is None:
        _ask_for_order(view, part, field, status)
        return
    column, format = found
    ended = are_past(pl.Series(column.cells), format).to_list()
    words = [ACTIVE.get(fold(cell.strip())) for cell in view.by_header[status].cells]
    is_doubtful = any(past and word is not is_inverted(status) for past, word in zip(ended, words, strict=True))
    part.evidence.append(f"{status} says who is active, but only until the day in {column.header}")
    ended_if(part, field, status, f"{column.header}|past({format})")
    if is_doubtful:
        text = f"{column.header} has dates before today. Are these rows still active?"
        no, yes = ProposedChoice("No", field, AS_PROPOSED), ProposedChoice(f"Yes, {status} alone counts", field, status)
        part.ask(text, no, yes)


def _ask_for_order(view: View, part: Part, field: str, status: str) -> None:
    """Ask whether the end dates of accounts begin with the day or the month, if both are possible."""
    column = last_day(view)
    orders = ("day first", "month first")
    if column is None or column.header == status or not {*orders} <= {*column.date_formats}:
        return
    no = "Yes" if is_inverted(status) else "No"
    choices = [
        ProposedChoice(
            f"{order.title()}: accounts are inactive after this day",
            f"join.{field}",
            f"{{{column.header}|past({order})|as({no})|or({status})}}",
        )
        for order in orders
    ]
    text = f"{column.header} may be the last day of accounts, such as {column.values[0]}. In which order are its dates?"
    keep = ProposedChoice(f"Do not read it: {status} alone counts", field, AS_PROPOSED)
    part.ask(text, *choices, keep)


def ended_if(part: Part, field: str, status: str, filled: str) -> None:
    """Read the status as inactive in rows where the placeholder `filled` gives a value, such as a past date."""
    no = "Yes" if is_inverted(status) else "No"
    part.shape.setdefault("join", {})[field] = f"{{{filled}|as({no})|or({status})}}"
    part.fields.pop(field, None)
    if is_inverted(status) and field == "Active":
        part.shape["invert"] = [field]


def ask_for_ended(view: View, part: Part) -> None:
    """Ask whether to leave out grants that have ended or were revoked before today."""
    for column in (last_day_of_grants(view) or last_day(view), _revoked(view)):
        if column is not None:
            _ask_if_past(part, column)


def _ask_if_past(part: Part, column: Profile) -> None:
    format = format_of(column)
    if format is None or not are_past(pl.Series(column.distinct), format).any():
        return
    text = f"{column.header} has dates before today. Is the access in these rows still held?"
    ended = ProposedChoice("No, leave them out", SKIP_ROWS, f"{column.header}{SEPARATOR}{format}")
    part.questions = [
        *part.questions,
        OpenQuestion(text, [ended, ProposedChoice("Yes, read all rows", SKIP_ROWS, column.header)]),
    ]


def last_day_of_grants(view: View) -> Profile | None:
    """Return the column with the last day of grants, if there is another last day, such as that of accounts."""
    found = _last_days(view)
    named = [each for each in found if words_of(each.header) & _OF_GRANTS]
    return named[0] if named and len(found) > 1 else None


def _revoked(view: View) -> Profile | None:
    """Return the column that says when a grant was revoked, such as DELETED_ON."""
    fits = (each for each in view.profiles if _REVOKED.search(each.header) and each.is_dated)
    return next((each for each in fits if not is_feature(each.header)), None)


def last_day(view: View) -> Profile | None:
    return next(iter(_last_days(view)), None)


def _last_days(view: View) -> list[Profile]:
    # Ignore the word access: an expiry of access is that of the account or grant, not of a feature such as a password.
    fits = (each for each in view.profiles if _LAST_DAY.search(without_accents(each.header.strip())))
    return [each for each in fits if each.values and not is_feature(_ACCESS.sub("", each.header))]


def _is_month_first_in_digits(column: Profile) -> bool:
    """Return whether all values are ten digits for month, day, hour, minute and year, as AIX writes dates.

    As seconds since 1970, such numbers would be times before 2010.
    """
    values = [value for value in column.distinct if fold(value) not in NO_DATE]
    return bool(values) and all(_TEN_DIGITS.fullmatch(each) and is_date(each, _MONTH_TO_YEAR) for each in values)


def format_of(column: Profile) -> str | None:
    """Return the format of the dates; None if no format fits, or if the order of day and month is not clear."""
    formats = column.date_formats
    if is_serial(column):
        return EXCEL
    if _is_month_first_in_digits(column):
        return _MONTH_TO_YEAR
    if formats:
        return None if {"day first", "month first"} <= set(formats) else formats[0]
    named = (each for each in NAMED_DATES if all(is_date(value, each) for value in column.distinct))
    return next(named, None) or _format_with_times(column)


def _format_with_times(column: Profile) -> str | None:
    """Return `day first` if all values are dates with the names of months, with or without a time; else None."""
    values = [value for value in column.distinct if fold(value) not in NO_DATE]
    patterns = [f"{date}{time}" for date in NAMED_DATES for time in DATE_TIMES]
    is_named = bool(values) and all(any(is_date(value, each) for each in patterns) for value in values)
    # With an order, the import recognizes dates with names of months too, in any notation.
    return "day first" if is_named else None
