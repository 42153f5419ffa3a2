-- Allow the outcome `unwritten`, because a message that cannot be written must not stop the others. The log of messages
-- says why it failed.
ALTER TABLE notification_messages DROP CONSTRAINT outcome_is_known;
ALTER TABLE notification_messages ADD CONSTRAINT outcome_is_known
    CHECK (outcome IN ('sending', 'sent', 'kept', 'deferred', 'refused', 'channel', 'unknown', 'bounced', 'unwritten'));
