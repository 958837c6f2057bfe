-- Which operations are slow, and on which server? Milliseconds from call to reply.
SELECT
    responder AS server,
    operation,
    COUNT(*) AS calls,
    CAST(percentile_disc(0.5) WITHIN GROUP (ORDER BY latency_ns) AS DOUBLE) / 1e6 AS p50_ms,
    CAST(percentile_disc(0.99) WITHIN GROUP (ORDER BY latency_ns) AS DOUBLE) / 1e6 AS p99_ms,
    CAST(MAX(latency_ns) AS DOUBLE) / 1e6 AS max_ms
FROM transactions
WHERE NOT reverse AND latency_ns IS NOT NULL
GROUP BY responder, operation
ORDER BY p99_ms DESC, server, operation NULLS LAST
