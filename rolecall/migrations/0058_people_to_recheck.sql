-- Create a queue of people whose requests are checked again for conflicts of duties. Null means all requests about
-- groups.
CREATE TABLE people_to_recheck (
    identity_id uuid
);

-- Store when a postponed request is tried again. A request that depends on the removal of other access starts when the
-- removal is done.
ALTER TABLE access_requests ADD postponed_until timestamptz;
DROP INDEX access_requests_to_start;
DROP INDEX access_requests_to_wake;
CREATE INDEX access_requests_to_start ON access_requests (greatest(scheduled_start, postponed_until)) WHERE status = 'Scheduled';
CREATE INDEX access_requests_to_wake ON access_requests (greatest(snoozed_until, postponed_until)) WHERE status = 'Snoozed';
