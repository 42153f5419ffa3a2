"""Decide who may import the data of an application. Actions and console both use these functions."""

from rolecall.core.caller import Caller, Scope
from rolecall.core.errors import Forbidden


def may_import(caller: Caller, *, is_identity_source: bool) -> bool:
    """Tell whether a caller may import the data of an application."""
    return Scope.IMPORTS_WRITE in caller.scopes and _may_define_people(caller, is_identity_source)


def require_import_right(caller: Caller, *, is_identity_source: bool) -> None:
    """Refuse imports of an identity source without `identities:write`; routes and screens check `imports:write`."""
    if not _may_define_people(caller, is_identity_source):
        raise Forbidden(Scope.IDENTITIES_WRITE)


def _may_define_people(caller: Caller, is_identity_source: bool) -> bool:
    # A file of an identity source could make its sender a supervisor, who approves access.
    return not is_identity_source or Scope.IDENTITIES_WRITE in caller.scopes
