# Version 2, in both formats: our rpcrdma-ping calls our rpcrdma-serve, which speaks every version, or version 1 only.
programs="rpcrdma-ping rpcrdma-serve"

readonly old_port=20050

server() {
    server_ours
    # A server of version 1 only.
    rpcrdma-serve "0.0.0.0:$old_port" --rpcrdma-version 1 >/host/serve-old.txt 2>&1 &
    sleep 1
    kill -0 "$!" || fail "the rpcrdma-serve of version 1 does not stay"
}

# speaks ASKED AGREED PORT OPTIONS...: two calls, with this --rpcrdma-version, and what is to be printed as agreed.
speaks() {
    local asked=$1 agreed=$2 at=$3
    shift 3
    limit 60 rpcrdma-ping -c 2 -i 0.1 --rpcrdma-version "$asked" "$@" "$server:$at" | tee /tmp/said
    grep -q "RPC-over-RDMA version $agreed," /tmp/said || fail "version $agreed was not agreed"
}

client() {
    local version carry size
    for version in 2a 2b; do
        step "$version"
        speaks "$version" "$version" "$port"
        for size in 0 1 3 500; do
            speaks "$version" "$version" "$port" --program echo --carry inline --size "$size"
        done
        for carry in read write position-zero reply; do
            for size in 1 1023 4096 65537; do
                speaks "$version" "$version" "$port" --program echo --carry "$carry" --size "$size"
            done
        done
        # 1 MiB takes some 259 Sends each way.
        for size in 1 4096 65537 1048576; do
            speaks "$version" "$version" "$port" --program echo --carry continued --size "$size"
        done
    done
    step "auto, and the server speaks every version"
    speaks auto 2b "$port"
    step "auto, and the server speaks version 1 only"
    speaks auto 1 "$old_port"
    step "version 2 only, and the server speaks version 1 only"
    for version in 2a 2b; do
        refuses 60 rpcrdma-ping -c 1 --rpcrdma-version "$version" "$server:$old_port"
    done
    step "2 % of the frames are lost"
    on_server "loss 2"
    loss 2
    for version in 2a 2b; do
        for carry in read write continued; do
            speaks "$version" "$version" "$port" --program echo --carry "$carry" --size 65537 -W 50
        done
    done
}

verdict() {
    local family header answered
    for header in A:RDMA2_{CONNPROP,MSG,NOMSG} B:RDMA2_{CONNPROP_FINAL,CALL_INLINE,CALL_MIDDLE,CALL_EXTERNAL,REPLY_INLINE,REPLY_MIDDLE,REPLY_EXTERNAL}; do
        family=${header%%:*} header=${header#*:}
        grep -q "\"rdma_htype\":\"$header\",\"family\":\"$family\"" messages.json ||
            fault "no $header of family $family was captured"
    done
    answered=$(grep -c '"status":{"name":"SUCCESS"' transactions.json)
    [ "$answered" -eq 116 ] || fault "$answered calls were answered, not 116"
    grep -q '"rebuilt":false' transactions.json && fault "not every RPC was rebuilt"
    grep -q '"retransmitted":[1-9]' stats.json || fault "nothing was retransmitted"
}
