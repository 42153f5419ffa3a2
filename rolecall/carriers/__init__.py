"""Carriers: carry out approved requests in the application itself, by SCIM or LDAP.

    model, shapes, queries, actions, routes    the carrier of an application, as configured, and its state
    naming.py, planning.py                     the steps that a request's approved access asks for, and nothing else
    scim.py, ldap.py, targets.py               one module per kind: make a change unless it was made already
    recording.py, carrying.py                  record each step before it is sent, and its answer; resolve the request
    health.py                                  what doctor and metrics report

An import of the application's live source verifies the result (`access_requests/closed_loop.py`).
"""
