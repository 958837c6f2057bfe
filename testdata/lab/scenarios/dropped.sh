# Our give-up reads from Linux nfsd by eight threads at once, and drops 10,000 READs, every other one, before they are answered.
programs="give-up" peer="192.0.2.1" seconds=900

server() {
    server_nfsd
    octets 200000 >/srv/export/file
}

client() {
    octets 200000 >/tmp/file
    # A reply is late enough for many calls to be dropped between their Send and the RDMA Write.
    delay 2
    limit 800 give-up "$server:$port" 10000 file /tmp/file
}

verdict() {
    # One connection from the first call to the last, and a reply to each call that was sent.
    [ "$(grep -c '"type":"transaction"' transactions.json)" -gt 19000 ] || fault "calls are missing"
    grep -q '"rebuilt":false' transactions.json && fault "not every RPC was rebuilt"
    grep -q '"form":"chunked"' transactions.json || fault "no data came by RDMA Write"
}
