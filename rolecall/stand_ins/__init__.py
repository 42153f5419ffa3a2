"""People who decide for others; `schema/stand_ins.sql` chooses who stands in for whom."""
