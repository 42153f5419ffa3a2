CREATE TABLE heartbeats (
    worker_id  uuid PRIMARY KEY,
    started_at timestamptz NOT NULL DEFAULT now(),
    beaten_at  timestamptz NOT NULL DEFAULT now()
);
