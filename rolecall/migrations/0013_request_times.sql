-- Create the table of a histogram of the durations of API requests, added up over all API processes. The counters only
-- grow.
CREATE TABLE request_times (
    method   text NOT NULL,
    -- The route, such as /api/identities/{id}; empty for a path that matches no route.
    route    text NOT NULL,
    status   int NOT NULL,
    within   double precision NOT NULL,
    requests bigint NOT NULL,
    seconds  double precision NOT NULL,
    PRIMARY KEY (method, route, status, within)
) WITH (fillfactor = 50);
