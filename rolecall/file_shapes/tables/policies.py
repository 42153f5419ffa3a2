"""Recognize policies of Casbin, whose lines have different columns: permissions of roles, and members of roles."""

import re

from rolecall.file_shapes.tables.sample_table import Unreadable

# The kind of a rule at the beginning of a line: p for a permission, g for a member of a role.
_RULE = re.compile(r"\s{0,20}[pg]\d?\s{0,20},\s{0,20}[^,\s]")


def check_is_not_policy(text: str) -> None:
    """Raise Unreadable if every line is a rule such as `p, admin, orders, read` or `g, ada, admin`.

    The model of the policy, which is in another file, decides what the columns of its rules mean.
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines or not all(map(_RULE.match, lines)):
        return
    kinds = {line.lstrip()[0] for line in lines}
    found = {"p": "permissions (p)", "g": "members of roles (g)"}
    named = " and ".join(name for kind, name in found.items() if kind in kinds)
    raise Unreadable(
        f"the file is a policy of Casbin without a header, with {named}; save its lines with p as a table with the "
        "header Group,Permission,Value,Access (role, object, action, effect), and its lines with g as another one with "
        "the header Username,Group, both without the first column"
    )
