-- Where does the time of each server's RPCs go? Milliseconds of all of them.
SELECT
    responder AS server,
    COUNT(*) AS calls,
    CAST(SUM(latency_ns) AS DOUBLE) / 1e6 AS latency_ms,
    CAST(SUM(phases.call_ns) AS DOUBLE) / 1e6 AS call_ms,
    CAST(SUM(phases.responder_ns) AS DOUBLE) / 1e6 AS responder_ms,
    CAST(SUM(phases.rdma_read_ns) AS DOUBLE) / 1e6 AS pull_ms,
    CAST(SUM(phases.rdma_write_ns) AS DOUBLE) / 1e6 AS push_ms,
    CAST(SUM(phases.reply_ns) AS DOUBLE) / 1e6 AS reply_ms,
    CAST(SUM(phases.requester_ns) AS DOUBLE) / 1e6 AS requester_ms
FROM transactions
WHERE NOT reverse AND phases IS NOT NULL
GROUP BY responder
ORDER BY latency_ms DESC, server
