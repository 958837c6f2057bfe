# Of what rpcrdma-probe sends to Linux nfsd, the cases in which nfsd deviates, for a short capture. Those of the reverse direction are in `reverse`.
programs="rpcrdma-probe" peer="192.0.2.1 192.0.2.2"

server() {
    server_nfsd
    octets 1000 >/srv/export/file
    ln -s /a/path/of/27/octets/in/all /srv/export/link
}

client() {
    local status=0
    limit 200 rpcrdma-probe --tsv --silence 700ms --file file --link link --case short-4,short-12,short-16,short-20,short-24,\
short-27,nomsg-empty,nomsg-write-chunk-alone,msg-no-payload,xid-mismatch,reply-chunk-of-no-segments,\
remote-invalidation,read-write-chunk-empty,read-write-and-reply-chunk,readlink-write-chunk,readlink-write-and-reply-chunk,\
nfs3-read-write-and-reply-chunk,nfs3-readlink-write-and-reply-chunk \
        "$server:$port" >/host/probe.tsv || status=$?
    [ "$status" -eq 1 ] || fail "rpcrdma-probe ended with $status"
}

verdict() {
    diff <(grep -P '^(violates|hazard)\t(?!reverse-)' "$lab/expected/server-linux-$linux.tsv") share/probe.tsv ||
        fault "these are not all cases in which nfsd deviates"
}
