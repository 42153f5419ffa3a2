"""Ask whether a column such as Role has jobs, if the rows look like the people of an HR system."""

import re
from collections.abc import Sequence

from rolecall.applications.model import Content
from rolecall.core.text import some_of
from rolecall.file_shapes.accounts.ending import last_day
from rolecall.file_shapes.accounts.people import read_people
from rolecall.file_shapes.choices import AS_PROPOSED, CONTENT, SEPARATOR, SKIP_ROWS
from rolecall.file_shapes.columns.header_names import names_of, words_of
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

_ROLES = (["role"], ["roles"], ["rolename"], ["rolle"], ["userrole"], ["jobrole"], ["profile"], ["ruolo"], ["rol"])
# Fields of people that systems of accounts seldom have, and fields that only such systems have.
_EMPLOYED = ("Department", "Office", "Supervisor ID", "Created", "Type", "Company", "Division", "Title")
_OF_SYSTEMS = ("Last Login", "Password Changed", "Locked")
_HIRED = {"hire", "hired", "start", "joined", "join", "eintritt", "embauche", "employment"}
_JOB = re.compile(
    r"account(?:ant|ing)|engineer|analyst|director|assistant|officer|nurse|physician|doctor|pharmacist|consultant"
    r"|specialist|technician|representative|coordinator|executive|president|intern\b|trainee|teacher|lawyer|counsel"
    r"|recruiter|designer|architect|partner|associate|scientist|controller|buyer|driver|mechanic|receptionist"
    r"|secretary|developer|sales|marketing|lead\b|head of|\bvp\b|\bc[efti]o\b|chief|cashier|therapist|surgeon",
    re.IGNORECASE,
)
_SURE = 0.5
_MOST_NAMED = 2


def ask_for_jobs(view: View, parts: Sequence[Part]) -> None:
    """Ask whether the roles are the jobs of the people, if the file has fields of employees and no logins of accounts.

    One such field is enough if most roles are called like jobs.
    """
    users, *others = parts
    held = next(((part, header) for part in others if (header := _header_of_roles(part))), None)
    fields = view.fields(Content.USERS)
    is_of_system = any(field in fields and fields[field].score > _SURE for field in _OF_SYSTEMS)
    if held is None or is_of_system or view.by_header[held[1]].separator:
        return
    part, header = held
    roles = view.by_header[header]
    count = len(_employed(view, users, header))
    if count < 2 and not (count and _are_jobs(roles)):
        return
    shown = some_of(roles.distinct, _MOST_NAMED)
    text = f"The rows look like people of an HR system. Does {header}, such as {shown}, name their jobs?"
    people = [ProposedChoice("Yes, their jobs: read the file as people", CONTENT, Content.IDENTITIES)]
    leave_out = SEPARATOR.join((header, "isNot", ""))
    part.ask(
        text,
        *(people if read_people(view) else []),
        ProposedChoice("Yes, their jobs: do not read them as groups", SKIP_ROWS, leave_out),
        ProposedChoice("No, their roles in the system", "Username", AS_PROPOSED),
    )


def _header_of_roles(part: Part) -> str | None:
    """Return the header of a column of roles that is read as groups."""
    headers = part.columns_of_groups if part.content == Content.MEMBERSHIPS else []
    return next((header for header in headers if names_of(header)[:1] in _ROLES), None)


def _employed(view: View, users: Part, role: str) -> list[str]:
    """Return what shows that the rows are employees: fields, a last day, and employee IDs in place of logins."""
    fields = view.fields(Content.IDENTITIES, [role])
    found = [field for field in _EMPLOYED if field in fields and fields[field].score > _SURE]
    found = [field for field in found if field != "Created" or words_of(fields[field].header) & _HIRED]
    found += ["last day"] if last_day(view) else []
    number = users.fields.get("Employee ID")
    return [*found, *(["employee ID"] if number and users.holder == number.header else [])]


def _are_jobs(roles: Profile) -> bool:
    return 2 * sum(bool(_JOB.search(each)) for each in roles.distinct) > len(roles.distinct)
