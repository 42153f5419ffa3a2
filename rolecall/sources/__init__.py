"""Fetch the records of an application from a live source: SCIM, LDAP, REST, SQL or pushed SCIM records.

A source replaces uploaded files: each fetch writes one file per file group, and the import reads these files.

    model, shapes, queries, actions, routes    the source of an application, as configured
    references.py, secrets.py                  check references to secrets, and read the secrets
    peers.py, http_client.py                   the allow-list of hosts, and the HTTP client that enforces it
    kinds.py                                   the kinds of sources
    rest.py, scim.py, ldap.py, sql.py, push.py one module per kind: connect, then yield pages of records
    further_pages.py                           signs of further pages in JSON responses
    ldap_patience.py, nesting.py               wait for a directory; add members that its groups do not list
    snapshot.py, fetching.py                   check that a snapshot is complete, and write it as JSON lines
    health.py                                  sources that cannot work with the settings of this process

`application_imports/run/fetching.py` calls `fetching.py` when an import runs. `source_tests` tests a connection.
"""
