"""Rules about access: groups, memberships and permissions.

access.py              files about access
repeated_people.py     people without logins as the holders of grants
held_roles.py          roles in applications, and roles that users and groups hold
held.py                contents of a file of grants: the accounts in its rows, and rows that no longer apply
ended_grants.py        columns that may say that a grant is not held
denials.py             the column that says whether a row grants or denies
conditions.py          conditions of grants
places.py              where a role or permission applies
parallel_lists.py      lists of permissions beside lists of their places
levels_in_systems.py   rows with a user, a system and a level
objects.py             the object of a permission, such as a folder, a mailbox or a table
members.py             records of groups with an inner list of members
grants_by_kind.py      grants to users and groups, if no header names access
catalogues.py          lists of permissions without holders
group_permissions.py   what groups may do
group_lists.py         lists of groups in JSON
groups_with_members.py groups that list their members
matrices.py            matrices with a column for each permission, group or user
matrix_headers.py      what the headers of a matrix name
matrix_rows.py         what the rows of a matrix are
veza.py                payloads of Veza OAA
"""
