# Our rpcrdma-ping and nfs4-cp begin with version 2, and Linux nfsd speaks version 1.
programs="rpcrdma-ping nfs4-cp" peer="192.0.2.1"

readonly sizes="0 1 4095 65537 3000001"

server() {
    server_nfsd
}

client() {
    local version size
    step "auto"
    limit 60 rpcrdma-ping -c 5 -i 0.1 --rpcrdma-version auto "$server:$port" | tee /tmp/said
    grep -q "RPC-over-RDMA version 1," /tmp/said || fail "version 1 was not agreed"
    for size in $sizes; do
        copy "$size" "file-$size" --rpcrdma-version auto
        [ "$(grep -c "RPC-over-RDMA version 1$" /tmp/said)" -eq 2 ] || fail "version 1 was not agreed for both copies"
    done
    for version in 2a 2b; do
        step "$version"
        refuses 60 rpcrdma-ping -c 1 --rpcrdma-version "$version" "$server:$port"
        refuses 60 nfs4-cp --list --rpcrdma-version "$version" "nfs://$server/"
    done
}

verdict() {
    local connections wrong answered
    needs jq jq
    # Each connection begins with our properties in version 2, which Linux refuses; what follows, if anything, is version 1.
    connections=$(jq -s '[.[] | select(.type == "message")] | group_by(.connection) | length' messages.json)
    [ "$connections" -eq 15 ] || fault "there were $connections connections, not 15"
    wrong=$(jq -s -c '[.[] | select(.type == "message")] | group_by(.connection)[] | select((
        (.[0].version_2.rdma_htype // "" | startswith("RDMA2_CONNPROP")) and .[0].from == "192.0.2.2" and
        .[1].error.high == 1 and .[1].from == "192.0.2.1" and
        all(.[2:][]; .rdma_vers == 1)) | not) | map([.frame, .from, .rdma_vers])' messages.json) || wrong="jq failed"
    [ -z "$wrong" ] || fault "version 2, its refusal and version 1 are not in order: $wrong"
    answered=$(grep -c '"name":"NFSv4 NULL".*"status":{"name":"SUCCESS"' transactions.json)
    [ "$answered" -eq 5 ] || fault "$answered NULL calls were answered, not 5"
    grep -q '"rebuilt":false' transactions.json && fault "not every RPC was rebuilt"
    return 0
}
