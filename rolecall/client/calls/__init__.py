"""Every operation of the service as a function that describes a call; `Client` and `AsyncClient` perform it.

The positional parameters name the record. In a change, an omitted field keeps its value and None clears it.
"""

from rolecall.client.calls.access_models import *  # noqa: F403
from rolecall.client.calls.access_requests import *  # noqa: F403
from rolecall.client.calls.applications import *  # noqa: F403
from rolecall.client.calls.audit import *  # noqa: F403
from rolecall.client.calls.call import *  # noqa: F403
from rolecall.client.calls.entitlements import *  # noqa: F403
from rolecall.client.calls.exports import *  # noqa: F403
from rolecall.client.calls.identities import *  # noqa: F403
from rolecall.client.calls.imports import *  # noqa: F403
from rolecall.client.calls.notifications import *  # noqa: F403
from rolecall.client.calls.personnel_events import *  # noqa: F403
from rolecall.client.calls.reports import *  # noqa: F403
from rolecall.client.calls.separation_of_duties import *  # noqa: F403
from rolecall.client.calls.stand_ins import *  # noqa: F403
from rolecall.client.calls.tokens_and_settings import *  # noqa: F403
from rolecall.client.calls.webhooks import *  # noqa: F403
