-- Which captures hold what, and how much of it could not be put together?
SELECT
    capture,
    COUNT(*) AS rpcs,
    SUM(CASE WHEN call IS NULL OR reply IS NULL THEN 1 ELSE 0 END) AS half_seen,
    SUM(CASE WHEN call.rebuilt AND reply.rebuilt THEN 1 ELSE 0 END) AS rebuilt,
    MIN(time_ns) AS first_ns,
    MAX(time_ns) AS last_ns
FROM transactions
GROUP BY capture
ORDER BY capture
