"""People who respond and decide for others. `schema/stand_ins.sql` determines who stands in for whom."""
