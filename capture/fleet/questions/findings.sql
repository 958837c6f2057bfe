-- Which implementations break which rules? Peers that are known for a deviation are named by what they run.
SELECT
    rule,
    severity,
    COALESCE(
        deviation_of,
        CASE blame WHEN 'sender' THEN sender WHEN 'receiver' THEN receiver ELSE 'either end' END
    ) AS who,
    COUNT(*) AS findings,
    COUNT(DISTINCT capture) AS captures
FROM findings
GROUP BY
    rule,
    severity,
    COALESCE(
        deviation_of,
        CASE blame WHEN 'sender' THEN sender WHEN 'receiver' THEN receiver ELSE 'either end' END
    )
ORDER BY findings DESC, rule, severity, who
