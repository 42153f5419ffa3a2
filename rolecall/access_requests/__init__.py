"""Access requests, from the body of a new request to the import that proves it. The main modules are:

request_body.py    read the body of a new request
enrichment.py      fill it in from imported data
separation.py      check it for conflicts of duties; rechecking.py checks stored requests again
requirements.py    find who must respond according to the approval policy
creation.py        insert requests in bulk
actions.py         the verbs of a request: respond, resolve, verify, …
moving.py          change the status of requests in bulk; opening.py lets provisioning begin
permitted.py       check who may see and move a request
closed_loop.py     compare requests with a finished import; judging.py decides about each
"""
