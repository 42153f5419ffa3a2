"""Define the statuses that access requests, personnel events and stages share."""

from enum import StrEnum


class WorkStatus(StrEnum):
    """The status of an access request, a personnel event or a stage of an event."""

    PENDING = "Pending"
    OPEN = "Open"
    RESOLVED = "Resolved"
    COMPLETED = "Completed"
    CANCELED = "Canceled"
    SCHEDULED = "Scheduled"
    SNOOZED = "Snoozed"
