"""Define response types. They ignore unknown fields and keep enums as text, so that newer services work too."""

from rolecall.client.answers.access import *  # noqa: F403
from rolecall.client.answers.administration import *  # noqa: F403
from rolecall.client.answers.applications import *  # noqa: F403
from rolecall.client.answers.carriers import *  # noqa: F403
from rolecall.client.answers.common import *  # noqa: F403
from rolecall.client.answers.requests import *  # noqa: F403
from rolecall.client.answers.reviews import *  # noqa: F403
from rolecall.client.answers.sources import *  # noqa: F403
