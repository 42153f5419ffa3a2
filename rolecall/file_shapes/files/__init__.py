"""From the tables of one or more files to a connector.

proposing.py        proposals in a child process with limits
faulty_files.py     unexpected exceptions, as problems of the files that raised them
proposals.py        the connector for several files together
other_places.py     other sheets and lists that are read too
read_files.py       the state of a file during a proposal
by_template.py      the file group of a connector template that fits a file
contents.py         which contents a file has, and the shape of each
own_headers.py      columns that an import would read because their headers are names of fields
plain_names.py      rows that have a name and may be groups
group_names.py      holders that may be groups
agreement.py        usernames and groups that several files name in different ways
references.py       group numbers, nested groups and deleted groups
unlisted_groups.py  groups that the list of groups does not have
same_groups.py      groups of one name in several files
places_of_groups.py places in the names of groups, such as `Clerk: East`
capitals.py         names that differ only in case
file_groups.py      the file groups of the connector
understood.py       the first rows of a sample as an import would store them
accounting.py       what becomes of each column of a file
showing.py          the description of each file for the person who confirms the proposal
"""
