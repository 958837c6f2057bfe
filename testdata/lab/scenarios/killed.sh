# The program at the other end is killed during calls, in every version: each pending call of ours ends with an error, in time.
programs="rpcrdma-ping rpcrdma-serve"

server() {
    server_ours
}

client() {
    local version killed refused
    for version in 1 2a 2b; do
        step "version $version: our client is killed during calls, and our server answers the next one"
        rpcrdma-ping -c 1000000 -i 0 --rpcrdma-version "$version" "$server:$port" >/tmp/killed.txt 2>&1 &
        killed=$!
        wait_for 30 test -s /tmp/killed.txt
        kill -9 "$killed" || fail "rpcrdma-ping ended by itself"
        limit 60 rpcrdma-ping -c 1 --rpcrdma-version "$version" "$server:$port"

        step "version $version: our server is killed during calls"
        refuses 60 rpcrdma-ping -c 1000000 -i 0 --rpcrdma-version "$version" "$server:$port" >/tmp/refused.txt 2>&1 &
        refused=$!
        wait_for 30 test -s /tmp/refused.txt
        on_server "pkill -9 rpcrdma-serve" || fail "there was no rpcrdma-serve to kill"
        wait "$refused" || { tail -3 /tmp/refused.txt; exit 1; }
        tail -3 /tmp/refused.txt

        step "nobody listens"
        refuses 60 rpcrdma-ping -c 1 "$server:$port" 2>&1 | tee /tmp/nobody.txt
        grep -q "no server accepts connections" /tmp/nobody.txt || fail "a refusal is told as something else"
        on_server "server_ours"
    done
}

verdict() {
    local version
    for version in 1 2; do
        grep -q "\"rdma_vers\":$version," messages.json || fault "version $version was not spoken"
    done
    [ "$(grep -c '"status":{"name":"SUCCESS"' transactions.json)" -ge 9 ] || fault "too few calls were answered before"
}
