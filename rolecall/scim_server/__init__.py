"""The SCIM 2.0 server at `/scim/v2`: identity providers push the users and groups of an application.

    model, shapes, queries, actions, routes    tokens, the state of a push, stored resources
    schema.py, resources.py                    the attributes of users and groups; check what is pushed
    filters.py, filter_sql.py, patching.py     the filter language, filters as SQL, PATCH
    projection.py, discovery.py, protocol.py   choose attributes, describe the server, serve requests

Resources are stored as pushed and change nothing by themselves: `sources/push.py` reads them as the snapshot of an
import. `docs/sources-push.md` describes the settings of identity providers.
"""
