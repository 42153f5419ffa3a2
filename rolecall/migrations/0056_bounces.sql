-- Messages that a later report says were not delivered (docs/notifications.md).
ALTER TABLE notification_messages DROP CONSTRAINT outcome_is_known;
ALTER TABLE notification_messages ADD CONSTRAINT outcome_is_known
    CHECK (outcome IN ('sending', 'sent', 'kept', 'deferred', 'refused', 'channel', 'unknown', 'bounced'));
-- Only of messages in flight: results are recorded by message, and reading all notifications takes longer with each one.
CREATE INDEX notifications_in_flight ON notifications (message_id) WHERE lease IS NOT NULL;
