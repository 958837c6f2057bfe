-- How many credits does each server grant, and how many do its clients ask for?
SELECT
    responder AS server,
    MIN(CASE WHEN rpc.direction = 'reply' THEN rdma_credit END) AS least_granted,
    MAX(CASE WHEN rpc.direction = 'reply' THEN rdma_credit END) AS most_granted,
    MAX(CASE WHEN rpc.direction = 'call' THEN rdma_credit END) AS most_requested,
    COUNT(DISTINCT capture) AS captures
FROM messages
WHERE rdma_vers = 1 AND rpc IS NOT NULL AND NOT rpc.reverse
GROUP BY responder
ORDER BY server
