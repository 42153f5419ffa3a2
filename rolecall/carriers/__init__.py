"""Carry out approved requests in the application itself, by SCIM or LDAP.

    model, shapes, queries, actions, routes    the carrier of an application, as configured, and its state
    request_facts.py, naming.py, planning.py   plan the steps that the approved access of a request needs
    scim.py, ldap.py                           one per kind: make a change, unless the application has it already
    targets.py                                 connect to the application with the module of its kind
    recording.py, carrying.py                  record each step before it is sent, and its response; resolve the request
    undoing.py                                 take back access that was given for a request canceled later
    health.py                                  the problems and numbers that doctor and metrics report

If the live source of the application covers the changes, an import verifies them (`access_requests/closed_loop.py`).
"""
