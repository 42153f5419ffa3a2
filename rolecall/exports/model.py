from enum import StrEnum


class ExportStatus(StrEnum):
    RUNNING = "Running"
    FINISHED = "Finished"
    FAILED = "Failed"
    # The client went away before the last byte.
    ABANDONED = "Abandoned"
