"""Show and settle columns that an import reads by their own headers, although no rule has chosen them."""

from rolecall.application_imports.read.columns import ALIASES
from rolecall.applications.model import FIELDS, Content, same_header
from rolecall.file_shapes.meanings import Meaning
from rolecall.file_shapes.parts import Part, View

_DESCRIBED = (Content.USERS, Content.GROUPS)


def settle_headers(view: View, part: Part) -> None:
    """Map columns of accounts and groups to the field of their header; leave out those of other contents.

    A permission that a user holds has no group, even if a column is called Role.
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
            part.fields[field] = Meaning(profile.header, field, 0.5, f"its header is {field}")
            given.add(field)
        else:
            part.ignore([profile.header])
