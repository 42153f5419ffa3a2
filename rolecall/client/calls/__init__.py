"""Define a function for every operation of the service. It returns a `Call`; `Client` or `AsyncClient` performs it.

Positional parameters identify the record. In a change, an omitted field keeps its value and None clears it.
"""

from rolecall.client.calls.access import *  # noqa: F403
from rolecall.client.calls.administration import *  # noqa: F403
from rolecall.client.calls.applications import *  # noqa: F403
from rolecall.client.calls.carriers import *  # noqa: F403
from rolecall.client.calls.describe import *  # noqa: F403
from rolecall.client.calls.requests import *  # noqa: F403
from rolecall.client.calls.reviews import *  # noqa: F403
from rolecall.client.calls.sources import *  # noqa: F403
