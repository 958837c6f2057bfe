# A server that is stopped, a server whose answers are lost, a client whose acknowledgements are lost, a slow server: what
# `rpcrdma diagnose` says of each.
programs="rpcrdma-ping rpcrdma-serve"

# The first cause of each connection, in their order.
readonly causes=(none server-silent server-unreachable client-unreachable server-slow)

server() {
    server_ours
}

# hung COMMAND...: calls, one every 100 ms, during which the command is run; six seconds later the client is killed.
hung() {
    rpcrdma-ping -c 1000 -i 0.1 "$server:$port" >/tmp/ping.txt 2>&1 &
    local ping=$!
    wait_for 30 test -s /tmp/ping.txt
    sleep 1
    "$@"
    sleep 6
    kill -9 "$ping" 2>/dev/null || true
    wait "$ping" || true
}

client() {
    modprobe sch_netem
    step "nothing is wrong"
    limit 60 rpcrdma-ping -c 30 -i 0.02 -q "$server:$port"

    step "the server is stopped"
    hung on_server "pkill -STOP rpcrdma-serve"
    on_server "pkill -9 rpcrdma-serve; sleep 1; server_ours"

    step "nothing comes from the server"
    hung on_server "loss 100"
    on_server "tc qdisc del dev eth0 root; pkill -9 rpcrdma-serve; sleep 1; server_ours --delay 5s"

    step "the server answers, and nothing comes from the client"
    rpcrdma-ping -c 1 --program echo --carry inline --size 100 "$server:$port" >/tmp/ping.txt 2>&1 &
    local ping=$!
    wait_for 30 test -s /tmp/ping.txt
    sleep 2
    loss 100
    sleep 12
    kill -9 "$ping" 2>/dev/null || true
    wait "$ping" || true
    tc qdisc del dev eth0 root
    on_server "pkill -9 rpcrdma-serve; sleep 1; server_ours --delay 60ms"

    step "the server is slow"
    limit 60 rpcrdma-ping -c 20 -i 0 -q --program echo --carry inline --size 100 "$server:$port"
}

verdict() {
    needs jq jq
    local number found
    for number in "${!causes[@]}"; do
        found=$("$rpcrdma" diagnose -q --json --connection $((number + 1)) capture.pcap |
            jq -r 'select(.type == "diagnosis") | .causes[0].cause // "none"') || true
        echo "connection $((number + 1)): $found"
        [ "$found" = "${causes[number]}" ] || fault "connection $((number + 1)): $found instead of ${causes[number]}"
    done
}
