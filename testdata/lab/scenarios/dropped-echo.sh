# Our give-up calls our rpcrdma-serve in every way there is, by eight threads at once, and drops 10,000 calls, every other one.
programs="give-up rpcrdma-serve" seconds=900

server() {
    server_ours
}

client() {
    delay 2
    limit 800 give-up "$server:$port" 10000
    # A connection that is over holds no memory at the other end either.
    wait_for 10 on_server '! rdma resource show mr | grep -q rpcrdma-serve'
    on_server "kill -0 \$(pidof rpcrdma-serve)" || fail "rpcrdma-serve has ended"
}

verdict() {
    [ "$(grep -c '"type":"transaction"' transactions.json)" -gt 19000 ] || fault "calls are missing"
    grep -q '"rebuilt":false' transactions.json && fault "not every RPC was rebuilt"
    each_form reply
}
