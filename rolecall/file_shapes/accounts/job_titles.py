"""Ask whether a column such as Role has jobs, if the rows look like the people of an HR system."""

from collections.abc import Sequence

from rolecall.applications.model import Content
from rolecall.core.text import some_of
from rolecall.file_shapes.accounts.ending import last_day
from rolecall.file_shapes.choices import AS_PROPOSED, CONTENT
from rolecall.file_shapes.columns.header_names import names_of
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

_DEPARTMENTS = {"department", "dept", "departmentname", "abteilung", "costcenter"}
_ROLES = (["role"], ["roles"], ["rolename"], ["rolle"])
_MOST_NAMED = 2


def ask_for_jobs(view: View, parts: Sequence[Part]) -> None:
    """Ask whether the role of people with a department and a last day, but without a login, is their job."""
    users, *others = parts
    roles = [
        header
        for part in others
        if part.content == Content.MEMBERSHIPS
        for header in part.columns_of_groups
        if names_of(header)[:1] in _ROLES
    ]
    number = users.fields.get("Employee ID")
    is_number = number is not None and users.holder == number.header
    if not roles or not is_number or view.named(_DEPARTMENTS) is None or last_day(view) is None:
        return
    shown = some_of(view.by_header[roles[0]].distinct, _MOST_NAMED)
    text = f"The rows look like people of an HR system. Does {roles[0]}, such as {shown}, name their jobs?"
    choices = [
        ProposedChoice("Yes, their jobs: read the file as people", CONTENT, Content.IDENTITIES),
        ProposedChoice("No, their roles in the system", "Username", AS_PROPOSED),
    ]
    users.ask(text, *choices)
