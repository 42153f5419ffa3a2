"""Imports: the path of a file from an upload to intervals in the database.

    routes, actions    an upload becomes a Pending import
    run/               a worker takes it, fetches scheduled files, starts a child process and ends the import
    read/              files become a `FileDelta`: typed rows, all of them or only those that changed
    compare/           a `FileDelta` and the current state become a `ChangeSet`
    apply/             a `ChangeSet` is written, and identities are updated from their source
    run/finish.py      count, guard, match accounts, mark as Finished; one commit

`docs/life-of-an-import.md` walks through the files in this order.
"""
