from datetime import timedelta
from enum import StrEnum

LONGEST_EXCEPTION = timedelta(days=366)


class ExceptionStatus(StrEnum):
    """`Outgrown`: the person holds another duty of the rule, or a duty got new patterns, since it was requested."""

    PENDING = "Pending"
    APPROVED = "Approved"
    WITHDRAWN = "Withdrawn"
    EXPIRED = "Expired"
    OUTGROWN = "Outgrown"


EXCEPTION_MOVES = {
    ExceptionStatus.PENDING: {
        ExceptionStatus.APPROVED,
        ExceptionStatus.WITHDRAWN,
        ExceptionStatus.EXPIRED,
        ExceptionStatus.OUTGROWN,
    },
    ExceptionStatus.APPROVED: {ExceptionStatus.WITHDRAWN, ExceptionStatus.EXPIRED, ExceptionStatus.OUTGROWN},
    ExceptionStatus.WITHDRAWN: set[ExceptionStatus](),
    ExceptionStatus.EXPIRED: set[ExceptionStatus](),
    ExceptionStatus.OUTGROWN: set[ExceptionStatus](),
}


class ApprovalPart(StrEnum):
    """The part that an approver takes: the rule's owner, and one more person."""

    RULE_OWNER = "Rule Owner"
    SECOND = "Second Approver"


# Who may take the part of the second approver, for messages.
SECOND_APPROVERS = "an owner of an application on either side, or an administrator"
