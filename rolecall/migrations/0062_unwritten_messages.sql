-- A message that could not be written fails alone, and the log says why.
ALTER TABLE notification_messages DROP CONSTRAINT outcome_is_known;
ALTER TABLE notification_messages ADD CONSTRAINT outcome_is_known
    CHECK (outcome IN ('sending', 'sent', 'kept', 'deferred', 'refused', 'channel', 'unknown', 'bounced', 'unwritten'));
