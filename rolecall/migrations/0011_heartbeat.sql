-- Create the table in which each worker regularly records that it is running.
CREATE TABLE heartbeats (
    worker_id  uuid PRIMARY KEY,
    started_at timestamptz NOT NULL DEFAULT now(),
    beaten_at  timestamptz NOT NULL DEFAULT now()
);
