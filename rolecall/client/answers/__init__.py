"""Define response types. For newer versions of the service, unknown fields are ignored and enums are plain text."""

from rolecall.client.answers.access import *  # noqa: F403
from rolecall.client.answers.administration import *  # noqa: F403
from rolecall.client.answers.applications import *  # noqa: F403
from rolecall.client.answers.carriers import *  # noqa: F403
from rolecall.client.answers.common import *  # noqa: F403
from rolecall.client.answers.requests import *  # noqa: F403
from rolecall.client.answers.reviews import *  # noqa: F403
from rolecall.client.answers.sources import *  # noqa: F403
