# Our rpcrdma-ping begins with version 2, and Linux nfsd speaks version 1.
programs="rpcrdma-ping" peer="192.0.2.1"

server() {
    server_nfsd
}

client() {
    step "auto"
    limit 60 rpcrdma-ping -c 5 -i 0.1 --rpcrdma-version auto "$server:$port" | tee /tmp/said
    grep -q "RPC-over-RDMA version 1," /tmp/said || fail "version 1 was not agreed"
    local version
    for version in 2a 2b; do
        step "$version"
        refuses 60 rpcrdma-ping -c 1 --rpcrdma-version "$version" "$server:$port"
    done
}

verdict() {
    local offered answered
    offered=$(grep -c '"rdma_htype":"RDMA2_CONNPROP' messages.json)
    [ "$offered" -eq 3 ] || fault "$offered connections began with version 2, not 3"
    answered=$(grep -c '"name":"NFSv4 NULL".*"status":{"name":"SUCCESS"' transactions.json)
    [ "$answered" -eq 5 ] || fault "$answered NULL calls were answered, not 5"
}
