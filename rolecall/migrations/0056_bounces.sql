-- Allow the outcome `bounced`: a report that came later says that the message was not delivered
-- (docs/notifications.md).
ALTER TABLE notification_messages DROP CONSTRAINT outcome_is_known;
ALTER TABLE notification_messages ADD CONSTRAINT outcome_is_known
    CHECK (outcome IN ('sending', 'sent', 'kept', 'deferred', 'refused', 'channel', 'unknown', 'bounced'));
-- This index finds the notifications of a message when its result is recorded; without it, this would take longer with
-- every notification. It has only those in flight, so it stays small.
CREATE INDEX notifications_in_flight ON notifications (message_id) WHERE lease IS NOT NULL;
