-- Which clients' RPCs are slowed down by lost packets, and how much of their time does that take?
SELECT
    CASE WHEN reverse THEN responder ELSE requester END AS client,
    COUNT(*) AS calls,
    SUM(CASE WHEN recovery.retransmitted_packets > 0 THEN 1 ELSE 0 END) AS with_retransmission,
    SUM(recovery.retransmitted_packets) AS retransmitted_packets,
    SUM(recovery.timeouts) AS timeouts,
    SUM(recovery.naks) AS naks,
    SUM(recovery.rnr_naks) AS rnr_naks,
    CAST(SUM(recovery.ns) AS DOUBLE) / 1e6 AS recovery_ms,
    CAST(SUM(latency_ns) AS DOUBLE) / 1e6 AS latency_ms
FROM transactions
WHERE recovery IS NOT NULL
GROUP BY CASE WHEN reverse THEN responder ELSE requester END
ORDER BY recovery_ms DESC NULLS LAST, client
