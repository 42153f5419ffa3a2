"""Rules about accounts and people.

holders.py       files about accounts
held_by_users.py groups, roles and permissions in the rows of accounts
people.py        the people of an HR system
directory.py     people and groups of a directory export
kinds.py         columns that name both users and groups
job_titles.py    columns such as Role that may have jobs
realms.py        accounts whose names are unique only together with a host or a domain
statuses.py      columns that say who is active
states_of_roles.py states in parentheses behind roles
addresses.py     states that are part of an address, not statuses
unread_locks.py  columns that may say who is locked out, but are not read
ending.py        end dates of accounts, people and grants
refusals.py      files that are not about access, which are rejected
"""
