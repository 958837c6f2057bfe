# The server machine is switched off during a copy, without a goodbye: every pending call of ours ends with an error.
programs="rpcrdma-ping nfs4-cp" peer="192.0.2.1"

server() {
    server_nfsd
}

client() {
    step "the server machine is switched off while a file is copied to it"
    truncate -s 300M /tmp/large
    refuses 120 nfs4-cp /tmp/large "nfs://$server/large" &
    local refused=$!
    wait_for 60 on_server "find /srv/export -name .nfs4-cp-\* -size +0 | grep -q ."
    power_off_server
    wait "$refused"
    ! server_is_there || fail "the server machine is still there"

    step "nobody is there"
    refuses 120 rpcrdma-ping -c 1 "$server:$port"
}

verdict() {
    grep -q 'WRITE".*"nfs_status":{"name":"[A-Z0-9]*_OK"' transactions.json || fault "nothing was written before the machine fell"
}
