-- PostgreSQL inlines a function with CASE only if it is not STRICT: imports of accounts compute it for every row.
ALTER FUNCTION username_skeleton(text) CALLED ON NULL INPUT;
