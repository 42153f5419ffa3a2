"""Serve SCIM 2.0 at `/scim/v2`, so that identity providers can push the users and groups of an application.

    model, shapes, queries, actions, routes    tokens, the state of a push, stored resources
    schema.py, resources.py                    the attributes of users and groups; checks of pushed resources
    filters.py, filter_sql.py                  parse filters, compile them to SQL
    patching.py, member_changes.py             apply PATCH; merge changes of the members of a group
    projection.py, discovery.py, protocol.py   select attributes, describe the server, serve requests
    errors.py                                  convert errors to those of the protocol
    health.py                                  find pushes without a valid token, and tokens of people who left

Pushed resources are only stored. An import reads them later as a snapshot (`sources/push.py`) and updates accounts.
`docs/sources-push.md` describes the settings of identity providers.
"""
