"""Response types. Unknown fields are ignored and enums are plain text, so that a newer service works too."""

from rolecall.client.answers.access_models import *  # noqa: F403
from rolecall.client.answers.access_requests import *  # noqa: F403
from rolecall.client.answers.accounts import *  # noqa: F403
from rolecall.client.answers.applications import *  # noqa: F403
from rolecall.client.answers.audit import *  # noqa: F403
from rolecall.client.answers.common import *  # noqa: F403
from rolecall.client.answers.configuration import *  # noqa: F403
from rolecall.client.answers.entitlements import *  # noqa: F403
from rolecall.client.answers.exports import *  # noqa: F403
from rolecall.client.answers.imports import *  # noqa: F403
from rolecall.client.answers.notifications import *  # noqa: F403
from rolecall.client.answers.personnel_events import *  # noqa: F403
from rolecall.client.answers.separation_of_duties import *  # noqa: F403
from rolecall.client.answers.stand_ins import *  # noqa: F403
from rolecall.client.answers.tokens import *  # noqa: F403
from rolecall.client.answers.webhooks import *  # noqa: F403
