# 64 clients of ours are connected to our rpcrdma-serve, with Receives of its own for each and with shared ones: its memory, registrations and descriptors.
programs="rpcrdma-ping rpcrdma-serve" seconds=600

server() {
    # Too few for 64 connections: rpcrdma-serve raises it.
    ulimit -Sn 128
    server_ours
}

are_connected() {
    [ "$(on_server 'grep -c "speaks RPC-over-RDMA" /host/serve.txt')" -eq "$1" ]
}

# connected NAME OCTETS: connects the clients. Each connection may take so many octets of the server's memory.
connected() {
    local connections=64 process before after registrations descriptors number clients=()
    process=$(on_server 'pidof rpcrdma-serve')
    # The first connection allocates what the others share.
    limit 60 rpcrdma-ping -c 1 "$server:$port"
    before=$(memory_of "$process")
    for ((number = 0; number < connections; number++)); do
        rpcrdma-ping -c 2 -i 1000 "$server:$port" >/dev/null 2>&1 &
        clients+=($!)
    done
    wait_for 400 are_connected $((connections + 1))
    after=$(memory_of "$process")
    registrations=$(on_server 'rdma resource show mr | grep -c rpcrdma-serve')
    descriptors=$(on_server "ls /proc/$process/fd | wc -l")
    step "$1, each of $connections connections: $(((after - before) / connections)) octets, $registrations registrations and" \
        "$descriptors descriptors of all"
    [ $((after - before)) -lt $(($2 * connections)) ] || fail "$before octets before, $after after"
    [ "$registrations" -le $((4 * connections)) ] || fail "$registrations registrations"
    kill "${clients[@]}"
}

client() {
    connected "Receives of its own" 350000
    on_server "pkill rpcrdma-serve; sleep 5; server_ours --shared-receives 128"
    connected "shared Receives" 150000
}

verdict() {
    [ "$(grep -c '"status":{"name":"SUCCESS"' transactions.json)" -ge 130 ] || fault "a client was not answered"
}
