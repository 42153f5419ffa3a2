-- People whose requests are checked again against the rules that keep duties apart; null stands for requests about groups.
CREATE TABLE people_to_recheck (
    identity_id uuid
);

-- A request that counts on the removal of other access starts when that is done: it looks again at this time.
ALTER TABLE access_requests ADD postponed_until timestamptz;
DROP INDEX access_requests_to_start;
DROP INDEX access_requests_to_wake;
CREATE INDEX access_requests_to_start ON access_requests (greatest(scheduled_start, postponed_until)) WHERE status = 'Scheduled';
CREATE INDEX access_requests_to_wake ON access_requests (greatest(snoozed_until, postponed_until)) WHERE status = 'Snoozed';
