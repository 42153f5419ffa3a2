"""Stand-ins: people who respond for others for a time. `schema/stand_ins.sql` determines who stands in for whom."""
