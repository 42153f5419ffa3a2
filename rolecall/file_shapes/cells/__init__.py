"""How the cells of a column are read: dates, words, and several names in one cell.

values.py         formats of dates, and words for statuses and types
links.py          URLs, which are not logins
row_keys.py       keys of rows, which are not names of permissions
groups_held.py    the column of groups, the column of usernames, and values that mean no group
commas.py         cells with a comma: several groups or permissions, or one name
slashes.py        groups that are separated by a slash
numbered_pairs.py numbered columns that belong together, such as course1 and role1
scoped_lists.py   lists of objects, each with a role and the place where it applies
keyed_columns.py  columns of JSON objects that map names to access; keyed_lists.py and keyed_members.py use them
"""
