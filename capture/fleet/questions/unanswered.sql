-- Which calls have no reply in their capture? They may wait, or the capture ends before the reply.
SELECT
    capture,
    responder AS server,
    requester AS client,
    operation,
    call_frame,
    rdma_xid
FROM transactions
WHERE call IS NOT NULL AND reply IS NULL
ORDER BY capture, call_frame
