-- How much of its files a build has read, by the id of the import or dry run, for the person who waits for it.
CREATE TABLE read_progress (
    id         uuid PRIMARY KEY,
    read       bigint NOT NULL,
    total      bigint NOT NULL,
    changed_at timestamptz NOT NULL
);
