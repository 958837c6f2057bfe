-- Which clients had no credit free when they wanted to call, and for how long?
SELECT
    requester AS client,
    COUNT(*) AS calls,
    COUNT(CASE WHEN credit_wait_ns > 0 THEN 1 END) AS waited,
    MAX(credit_wait_ns) AS longest_ns,
    COUNT(CASE WHEN credit_wait_ns IS NULL THEN 1 END) AS not_known
FROM transactions
WHERE NOT reverse
GROUP BY requester
ORDER BY client
