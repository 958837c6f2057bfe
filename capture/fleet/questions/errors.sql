-- Which operations fail, how often, and with what?
SELECT
    responder AS server,
    operation,
    COALESCE(nfs_status.name, status.name) AS error,
    COUNT(*) AS failed,
    MAX(calls) AS of_calls,
    CAST(COUNT(*) AS DOUBLE) * 100 / MAX(calls) AS per_cent
FROM (
    SELECT
        responder,
        operation,
        status,
        nfs_status,
        COUNT(*) OVER (PARTITION BY responder, operation) AS calls
    FROM transactions
    WHERE NOT reverse
) AS counted
WHERE status IS NOT NULL AND (status.name <> 'SUCCESS' OR COALESCE(nfs_status.number, 0) <> 0)
GROUP BY responder, operation, COALESCE(nfs_status.name, status.name)
ORDER BY failed DESC, server, operation NULLS LAST, error NULLS LAST
