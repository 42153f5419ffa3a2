"""Build the HTTP application: routes, error handlers and lifespan."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext

from litestar import Litestar

from rolecall.access_models.routes import router as access_models
from rolecall.access_requests.routes import router as access_requests
from rolecall.accounts.routes import accounts, holdings
from rolecall.application_imports import queries as imports_queries
from rolecall.application_imports.dry_runs.routes import dry_runs_of_applications
from rolecall.application_imports.dry_runs.routes import router as dry_runs
from rolecall.application_imports.routes import rollbacks
from rolecall.application_imports.routes import router as application_imports
from rolecall.applications.routes import router as applications
from rolecall.audit.routes import router as audit
from rolecall.carriers.routes import router as carriers
from rolecall.configuration.routes import router as configuration_files
from rolecall.conflicts.routes import router as conflicts
from rolecall.conflicts.routes import simulations
from rolecall.connector_templates.routes import router as connector_templates
from rolecall.console import routes as console
from rolecall.console.responses import for_browsers
from rolecall.core import config as configuration
from rolecall.core.checking import Json
from rolecall.core.config import Config
from rolecall.core.db import ONE_PLAN_FOR_ALL, make_pool
from rolecall.duties.routes import router as duties
from rolecall.duties.routes import rules as duty_rules
from rolecall.effective_access.routes import account_access
from rolecall.effective_access.routes import holdings as holders
from rolecall.effective_access.routes import router as effective_access
from rolecall.entitlements.routes import router as entitlements
from rolecall.exports.actions import finish_export, start_export
from rolecall.exports.routes import router as exports
from rolecall.file_shapes.routes import router as file_shapes
from rolecall.identities.routes import router as identities
from rolecall.notifications.routes import ROUTERS as NOTIFICATIONS
from rolecall.operate.routes import router as metrics
from rolecall.personnel_events import routes as personnel_events
from rolecall.reports.routes import router as reports
from rolecall.reviews.routes import items as review_items
from rolecall.reviews.routes import repeated as review_templates
from rolecall.reviews.routes import router as reviews
from rolecall.scim_server import routes as scim_server
from rolecall.scim_server.errors import for_scim
from rolecall.settings.routes import router as settings
from rolecall.source_tests.routes import router as source_tests
from rolecall.sources.routes import router as sources
from rolecall.stand_ins.routes import router as stand_ins
from rolecall.tokens.actions import sign_as_token
from rolecall.tokens.keyring import Keyring
from rolecall.tokens.routes import router as tokens
from rolecall.web.docs import documentation
from rolecall.web.edge import Edge
from rolecall.web.errors import HANDLERS
from rolecall.web.health import router as health
from rolecall.web.openapi import document
from rolecall.web.replica import Replica
from rolecall.web.request_times import RequestTimes
from rolecall.web.services import Services
from rolecall.webhooks.payload import DESCRIBED
from rolecall.webhooks.routes import callbacks, deliveries, hooks

ROUTERS = [
    access_models,
    access_requests,
    account_access,
    accounts,
    application_imports,
    applications,
    audit,
    callbacks,
    configuration_files,
    connector_templates,
    conflicts,
    console.router,
    console.icon,
    console.static,
    deliveries,
    dry_runs,
    duties,
    duty_rules,
    exports,
    file_shapes,
    health,
    holders,
    holdings,
    hooks,
    effective_access,
    entitlements,
    identities,
    metrics,
    *NOTIFICATIONS,
    personnel_events.router,
    personnel_events.administration,
    reports,
    review_items,
    review_templates,
    reviews,
    rollbacks,
    scim_server.applications,
    scim_server.protocol_router,
    scim_server.tokens,
    settings,
    simulations,
    stand_ins,
    tokens,
    dry_runs_of_applications,
    sources,
    source_tests,
    carriers,
]


def create_app(config: Config | None = None) -> Edge:
    config = config or configuration.load()
    if config.database_url is None:
        raise configuration.ConfigError("ROLECALL_DATABASE_URL is not set; `rolecall serve` starts its own database")
    return furnish(build(), config)


def build() -> Litestar:
    """Build the application with all routes but without services. This is the slow part, so tests do it once."""
    return Litestar(
        [*ROUTERS, documentation(_describe)],
        exception_handlers={kind: for_scim(for_browsers(answer)) for kind, answer in HANDLERS.items()},
        lifespan=[_open_pool],
        # `web/openapi.py` writes the document.
        openapi_config=None,
        request_max_body_size=None,  # Each operation limits its own body.
        # `core/logs.py` configures logging for the process.
        logging_config=None,
    )


def furnish(app: Litestar, config: Config) -> Edge:
    pool, keyring = make_pool(config, **ONE_PLAN_FOR_ALL), Keyring()
    replica = Replica(pool, make_pool(config, config.read_url, **ONE_PLAN_FOR_ALL)) if config.read_url else None
    times = RequestTimes()
    # The package `web` cannot import these functions, because their packages are above it.
    app.state.services = Services(
        config,
        pool,
        keyring.authenticate,
        sign_as_token,
        imports_queries.count_failing_schedules,
        times,
        start_export,
        finish_export,
        replica,
    )
    return Edge(app, config, times)


@asynccontextmanager
async def _open_pool(app: Litestar) -> AsyncGenerator[None]:
    services: Services = app.state.services
    replica = services.replica.pool if services.replica else nullcontext()
    # On exit the last request times are written before the pools close.
    async with services.pool, replica, services.request_times.kept(services.pool):
        yield


def _describe(app: Litestar, base_url: str) -> Json:
    return document(app, base_url, DESCRIBED)
