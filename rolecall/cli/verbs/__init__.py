"""Define the client commands: nouns and verbs, the call of each verb, and the columns of its output."""

from rolecall.cli.verbs import access, administration, applications, requests, reviews
from rolecall.cli.verbs.model import Noun

NOUNS: dict[str, Noun] = applications.NOUNS | access.NOUNS | requests.NOUNS | reviews.NOUNS | administration.NOUNS
