from rolecall.applications.model import ImportStatus, ImportType

__all__ = ["MOVES", "ImportStatus", "ImportType"]

MOVES = {
    ImportStatus.PENDING: {ImportStatus.RUNNING, ImportStatus.CANCELING},
    ImportStatus.RUNNING: {ImportStatus.FINISHED, ImportStatus.FAILED, ImportStatus.CANCELING},
    ImportStatus.CANCELING: {ImportStatus.CANCELED},
    ImportStatus.FINISHED: set[ImportStatus](),
    ImportStatus.FAILED: set[ImportStatus](),
    ImportStatus.CANCELED: set[ImportStatus](),
}
