-- How do operations travel: inline (short), with data in chunks (chunked), or as a whole in a chunk (long)?
SELECT
    operation,
    call.form AS call_form,
    reply.form AS reply_form,
    COUNT(*) AS calls,
    SUM(rdma_read_octets) AS rdma_read_octets,
    SUM(rdma_write_octets) AS rdma_write_octets
FROM transactions
WHERE call IS NOT NULL AND reply IS NOT NULL
GROUP BY operation, call.form, reply.form
ORDER BY operation NULLS LAST, call_form, reply_form
