# All frames are dropped while a connection is idle: with --keep-alive, both ends find out and free it.
programs="rpcrdma-ping rpcrdma-serve" incomplete=1

server() {
    server_ours --connections 1 --keep-alive 2s
}

client() {
    step "both ends find out that the link is cut"
    refuses 100 rpcrdma-ping --keep-alive 2s -i 1000 -c 3 "$server:$port" >/tmp/said 2>&1 &
    local refused=$!
    wait_for 30 grep -q xid= /tmp/said
    sleep 5
    ! grep -q "is gone" /host/serve.txt || fail "the server gave up a client that was there: $(cat /host/serve.txt)"
    on_server "loss 100"
    loss 100
    SECONDS=0
    wait "$refused"
    wait_for 60 grep -q "is gone" /host/serve.txt
    echo "ended $SECONDS s after the cut: $(cat /tmp/said /host/serve.txt)"
    [ "$SECONDS" -le 15 ] || fail "it took $SECONDS s"
    grep -q "no longer acknowledges\|no answer.*calls of 3 were not made" /tmp/said || fail "said: $(cat /tmp/said)"

    step "the only connection that the server allows is free again"
    tc qdisc delete dev eth0 root
    on_server "tc qdisc delete dev eth0 root"
    limit 60 rpcrdma-ping -c 1 "$server:$port"
}

verdict() {
    grep -q '"status":{"name":"SUCCESS"' transactions.json || fault "no call was answered"
}
