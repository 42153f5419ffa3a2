-- Store how much of its files a build has read, for the person who waits for the build. The id is that of the import or
-- the dry run.
CREATE TABLE read_progress (
    id         uuid PRIMARY KEY,
    read       bigint NOT NULL,
    total      bigint NOT NULL,
    changed_at timestamptz NOT NULL
);
