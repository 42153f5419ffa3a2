"""Define one function for each operation of the service: it returns a `Call` that `Client` or `AsyncClient` performs.

In a change, an omitted field keeps its value, and None clears a field that may be null.
"""

from rolecall.client.calls.access import *  # noqa: F403
from rolecall.client.calls.administration import *  # noqa: F403
from rolecall.client.calls.applications import *  # noqa: F403
from rolecall.client.calls.carriers import *  # noqa: F403
from rolecall.client.calls.describe import *  # noqa: F403
from rolecall.client.calls.requests import *  # noqa: F403
from rolecall.client.calls.reviews import *  # noqa: F403
from rolecall.client.calls.sources import *  # noqa: F403
