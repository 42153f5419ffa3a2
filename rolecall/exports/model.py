from enum import StrEnum


class ExportStatus(StrEnum):
    RUNNING = "Running"
    FINISHED = "Finished"
    FAILED = "Failed"
    # The client disconnected or stopped reading before the last byte, or the service stopped.
    ABANDONED = "Abandoned"
