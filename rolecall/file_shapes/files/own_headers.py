"""Handle columns that no rule uses, but that an import would read because their headers are names of fields."""

from rolecall.application_imports.read.columns import ALIASES
from rolecall.applications.model import FIELDS, Content, same_header
from rolecall.file_shapes.columns.meanings import Meaning, by_header
from rolecall.file_shapes.parts import Part, View

_DESCRIBED = (Content.USERS, Content.GROUPS)


def resolve_headers(view: View, part: Part) -> None:
    """If the rows are users or groups, map each unused column whose header is the name of a field to that field.

    In other contents, ignore such columns: a permission of a user has no group, even if a column is called Role. Do
    nothing if columns are unpivoted.
    """
    names = {same_header(name): field for field in FIELDS[part.content] for name in (field, *ALIASES.get(field, ()))}
    unpivot = part.shape.get("unpivot", {})
    given = {*part.fields, *part.shape.get("join", {}), unpivot.get("headers"), unpivot.get("cells")}
    used = {*part.columns, *part.shape.get("ignore", []), *unpivot.get("keep", [])}
    for profile in view.profiles:
        field = names.get(same_header(profile.header))
        if field is None or field in given or profile.header in used or unpivot:
            continue
        if part.content in _DESCRIBED:
            part.fields[field] = Meaning(profile.header, field, 0.5, by_header(profile.header, field))
            given.add(field)
        else:
            part.ignore([profile.header])
