# 64 clients of ours are connected to our rpcrdma-serve: its memory, registrations and descriptors for each.
programs="rpcrdma-ping rpcrdma-serve" seconds=600

server() {
    # Too few for 64 connections: rpcrdma-serve raises it.
    ulimit -Sn 128
    server_ours
}

# resident: resident memory of rpcrdma-serve in KiB.
resident() {
    on_server "awk '/^VmRSS:/ { print \$2 }' /proc/\$(pidof rpcrdma-serve)/status"
}

are_connected() {
    [ "$(on_server 'grep -c "speaks RPC-over-RDMA" /host/serve.txt')" -eq "$1" ]
}

client() {
    local connections=64 before after registrations descriptors number
    # What is allocated once.
    limit 60 rpcrdma-ping -c 1 "$server:$port"
    before=$(resident)
    for ((number = 0; number < connections; number++)); do
        rpcrdma-ping -c 2 -i 1000 "$server:$port" >/dev/null 2>&1 &
    done
    wait_for 400 are_connected $((connections + 1))
    after=$(resident)
    registrations=$(on_server 'rdma resource show mr | grep -c rpcrdma-serve')
    descriptors=$(on_server "ls /proc/\$(pidof rpcrdma-serve)/fd | wc -l")
    step "each of $connections connections: $(((after - before) / connections)) KiB, $registrations registrations and" \
        "$descriptors descriptors of all"
    [ $((after - before)) -lt $((350 * connections)) ] || fail "$before KiB before, $after KiB after"
    [ "$registrations" -le $((4 * connections)) ] || fail "$registrations registrations"
    jobs -p | xargs kill
}

verdict() {
    [ "$(grep -c '"status":{"name":"SUCCESS"' transactions.json)" -ge 65 ] || fault "a client was not answered"
}
