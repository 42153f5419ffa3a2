"""Decide who may change the mail server and read messages.

Some messages contain a sign-in link, which anyone who reads it can use, so `config:manage` alone is not enough.
"""

from rolecall.core.caller import Caller, Scope
from rolecall.core.errors import Forbidden
from rolecall.notifications.model import SIGN_IN_LINK
from rolecall.notifications.shapes import MessageDetail


def require_may_direct_links(caller: Caller) -> None:
    if Scope.IDENTITIES_WRITE not in caller.scopes:
        raise Forbidden(Scope.IDENTITIES_WRITE)


def require_may_read(caller: Caller, message: MessageDetail) -> None:
    """Refuse to show a message with a sign-in link to a caller who must not change how people sign in."""
    if message.kind == SIGN_IN_LINK:
        require_may_direct_links(caller)
