"""Live sources: the fetching side of imports. A source is one more way to make the file of an import.

    model, shapes, queries, actions, routes    the source of an application, as configured
    secrets.py, peers.py, http_client.py       references to secrets, the allow-list of hosts, the guarded HTTP client
    rest.py, scim.py, ldap.py, sql.py          one module per kind: connect, then yield pages of records
    snapshot.py, fetching.py                   check that a snapshot is complete, write it as JSON lines

`application_imports/run/fetching.py` calls `fetching.py` when an import runs; `source_tests` tries a connection.
"""
