from datetime import timedelta
from enum import StrEnum

# 366 days, so that a whole year is allowed even if it is a leap year.
LONGEST = timedelta(days=366)
# The maximum number of current and planned stand-ins of one person.
MOST = 100


class StandInStatus(StrEnum):
    PLANNED = "Planned"
    CURRENT = "Current"
    ENDED = "Ended"
