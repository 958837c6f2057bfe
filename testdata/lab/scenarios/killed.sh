# The program at the other end is killed during calls: every pending call of ours ends with an error, in time.
programs="rpcrdma-ping rpcrdma-serve"

server() {
    server_ours
}

client() {
    step "our client is killed during calls: our server answers the next one"
    rpcrdma-ping -c 1000000 -i 0 "$server:$port" >/tmp/killed.txt 2>&1 &
    local killed=$! refused
    wait_for 30 test -s /tmp/killed.txt
    kill -9 "$killed" || fail "rpcrdma-ping ended by itself"
    limit 60 rpcrdma-ping -c 1 "$server:$port"

    step "our server is killed during calls"
    refuses 60 rpcrdma-ping -c 1000000 -i 0 "$server:$port" >/tmp/refused.txt 2>&1 &
    refused=$!
    wait_for 30 test -s /tmp/refused.txt
    on_server "pkill -9 rpcrdma-serve" || fail "there was no rpcrdma-serve to kill"
    wait "$refused" || { tail -3 /tmp/refused.txt; exit 1; }
    tail -3 /tmp/refused.txt

    step "nobody listens"
    refuses 60 rpcrdma-ping -c 1 "$server:$port" 2>&1 | tee /tmp/nobody.txt
    grep -q "nobody accepts connections" /tmp/nobody.txt || fail "a refusal is told as something else"
}

verdict() {
    [ "$(grep -c '"status":{"name":"SUCCESS"' transactions.json)" -ge 3 ] || fault "too few calls were answered before"
}
