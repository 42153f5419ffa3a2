"""Access reviews: independent reviewers decide about imported access; later imports prove that access was removed.

model, shapes, queries, routes                    reviews and their items
bodies.py, item_queries.py                        request bodies, and the lists of items
actions.py, opening.py, closing.py, reminding.py  draft, preview, open, close and cancel a review; remind reviewers
population.py, equation.py, digests.py            collect, count and hash what is reviewed
reviewers.py, permitted.py, facts.py              who decides, who may decide, and facts for recommendations
deciding.py, moving.py, submitting.py             decide items, give them to other reviewers, sign decisions
remediating.py, accepting.py                      requests that carry decisions out; accepted risks
comparing.py, following.py, unexplained.py        what the worker does when data or people change, or a date passes
changes.py, steps.py, events.py                   records of changes by the service, of steps by people, and of events
templates.py, coverage.py, quality.py             repeating reviews, last reviews of applications, how reviewers decide
workspace.py, new_access.py, reason_lists.py      what the workspace of a reviewer shows
"""
