from enum import StrEnum


class ExportStatus(StrEnum):
    RUNNING = "Running"
    FINISHED = "Finished"
    FAILED = "Failed"
    # The client disconnected before the last byte.
    ABANDONED = "Abandoned"
