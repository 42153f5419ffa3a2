-- Let PostgreSQL inline username_skeleton, because imports of accounts compute it for every row. PostgreSQL inlines a
-- function with CASE only if it is not STRICT.
ALTER FUNCTION username_skeleton(text) CALLED ON NULL INPUT;
