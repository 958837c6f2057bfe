-- When is each server busy? The partition tells the hour, so a condition on it leaves files unread.
SELECT
    hour,
    responder AS server,
    COUNT(*) AS calls,
    SUM(rdma_read_octets + rdma_write_octets) AS rdma_octets,
    CAST(percentile_disc(0.99) WITHIN GROUP (ORDER BY latency_ns) AS DOUBLE) / 1e6 AS p99_ms
FROM transactions
WHERE NOT reverse AND call IS NOT NULL
GROUP BY hour, responder
ORDER BY hour, server
