"""Define the status and the type of an identity."""

from enum import StrEnum


class IdentityStatus(StrEnum):
    ACTIVE = "Active"
    DISABLED = "Disabled"
    REMOVED = "Removed"


class IdentityType(StrEnum):
    EMPLOYEE = "Employee"
    SERVICE_ACCOUNT = "Service Account"
    VENDOR = "Vendor"
    SHARED = "Shared"
    MAILBOX = "Mailbox"
    CLIENT = "Client"
    TEMPORARY = "Temporary"
    ADMINISTRATOR = "Administrator"
    AUDITOR = "Auditor"
    UNKNOWN = "Unknown"


# Identities that are not people, and therefore cannot sign in without a role.
NOT_PEOPLE = (IdentityType.SERVICE_ACCOUNT, IdentityType.SHARED, IdentityType.MAILBOX)
# The values of the type in webhook payloads, which differ from those in the API.
WEBHOOK_TYPES = {
    IdentityType.EMPLOYEE: "Employee",
    IdentityType.SERVICE_ACCOUNT: "ServiceAccount",
    IdentityType.VENDOR: "VendorAccount",
    IdentityType.SHARED: "Bot",
    IdentityType.MAILBOX: "Bot",
    IdentityType.CLIENT: "VendorAccount",
    IdentityType.TEMPORARY: "Employee",
    IdentityType.ADMINISTRATOR: "Employee",
    IdentityType.AUDITOR: "Employee",
    IdentityType.UNKNOWN: "Employee",
}
