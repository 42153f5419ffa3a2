-- A histogram of how long requests took, added up over all API processes; only ever grows.
CREATE TABLE request_times (
    method   text NOT NULL,
    -- The route, such as /api/identities/{id}; empty for a path that is none.
    route    text NOT NULL,
    status   int NOT NULL,
    within   double precision NOT NULL,
    requests bigint NOT NULL,
    seconds  double precision NOT NULL,
    PRIMARY KEY (method, route, status, within)
) WITH (fillfactor = 50);
