-- Have one index less to fill when thousands of people begin to hold a duty: the index of the list already finds
-- holders by duty.
ALTER TABLE duty_holders DROP CONSTRAINT duty_holders_pkey;
ALTER TABLE duty_holders ADD PRIMARY KEY (identity_id, duty_id);
DROP INDEX duty_holders_identity_id_idx;
