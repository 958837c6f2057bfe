# The program at the other end is killed in the middle of calls: every pending call of ours ends with an error, and in time.
programs="rpcrdma-ping rpcrdma-serve"

server() {
    server_ours
}

client() {
    step "our client is killed during calls: our server answers the next one"
    rpcrdma-ping -c 1000000 -i 0 "$server:$port" >/dev/null 2>&1 &
    local killed=$!
    sleep 3
    kill -9 "$killed" || fail "rpcrdma-ping ended by itself"
    limit 60 rpcrdma-ping -c 1 "$server:$port"

    step "our server is killed during calls"
    on_server "(sleep 3; pkill -9 rpcrdma-serve) >/dev/null 2>&1 &"
    refuses 60 rpcrdma-ping -c 1000000 -i 0 "$server:$port"
    on_server "! pidof rpcrdma-serve" || fail "rpcrdma-serve was not killed"

    step "nobody listens"
    refuses 60 rpcrdma-ping -c 1 "$server:$port"
}

verdict() {
    [ "$(grep -c '"status":"SUCCESS"' transactions.json)" -ge 3 ] || fault "too few calls were answered before"
}
