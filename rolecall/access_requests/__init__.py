"""Access requests, from the body of a new request to the import that proves it.

request_body.py        read the body of a new request
enrichment.py          fill it in from imported data
access_fits_action.py  check that its access fits its action
separation.py          check it for conflicts of duties; duty_changes.py and open_access.py find what it changes
rechecking.py          check stored requests for conflicts again; asking_owners.py asks who must approve them
requirements.py        find who must respond according to the approval policy
escalation.py          ask others if nobody responds
creation.py            insert requests in bulk
actions.py             the verbs of a request: respond, resolve, verify, …
moving.py              change the status of requests in bulk; opening.py lets provisioning begin
permitted.py           check who may see and move a request
requests_of_person.py  list the requests that concern a person
closed_loop.py         compare requests with a finished import; judging.py decides about each
"""
