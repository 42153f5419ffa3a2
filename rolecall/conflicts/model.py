from datetime import timedelta
from enum import StrEnum

# 366 days, so that a whole year is allowed even if it is a leap year.
LONGEST_EXCEPTION = timedelta(days=366)


class ExceptionStatus(StrEnum):
    """The status of an exception.

    `Outgrown`: the person holds a duty of the rule that the exception does not cover, or a duty has new patterns.
    """

    PENDING = "Pending"
    APPROVED = "Approved"
    WITHDRAWN = "Withdrawn"
    EXPIRED = "Expired"
    OUTGROWN = "Outgrown"


# The allowed changes of status. The trigger `refuse_move` (schema/conflicts.sql) enforces them too.
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
    """The capacity in which a person approves an exception: as the rule's owner, or as the second approver."""

    RULE_OWNER = "Rule Owner"
    SECOND = "Second Approver"


# How messages name the people who may be the second approver.
SECOND_APPROVERS = "an owner of an application on either side, or an administrator"
