# Each end in turn holds what it sends, for 2 ms and for 5: the phases of calls to our server show it.
programs="rpcrdma-ping rpcrdma-serve" both_ends=1

# Each on a connection of its own: how calls carry data; which end holds its frames; the phase that is longer if they are held
# for longer, and how many times by as much. An RDMA Read of the server waits for the client's data; the server holds the RDMA
# Read request and the reply.
readonly ways=(
    "inline client - 0" "read client rdma_read_ns 1" "write client - 0"
    "inline server responder_ns 1" "read server responder_ns 2" "write server responder_ns 1"
)

server() {
    server_ours
}

# held END MILLISECONDS
held() {
    case $1 in
    client) delay "$2" ;;
    server) on_server "delay $2" ;;
    esac
}

client() {
    local way carry end milliseconds
    for way in "${ways[@]}"; do
        for milliseconds in 2 5; do
            read -r carry end _ <<<"$way"
            step "$carry, $end: $milliseconds ms"
            held "$end" "$milliseconds"
            limit 60 rpcrdma-ping -c 60 -i 0 -q --program echo --carry "$carry" --size 64 "$server:$port"
            held "$end" 0
        done
    done
}

# best RPCS CONNECTION PHASE: the least of this phase of its calls, in nanoseconds.
best() {
    jq -s --argjson connection "$2" "[.[] | select(.connection == \$connection) | .phases.$3 // empty] | min" "$1"
}

# is_longer LONGER SHORTER MILLISECONDS: within one.
is_longer() {
    awk -v longer="$1" -v shorter="$2" -v by="$3" \
        'BEGIN { far = (longer - shorter) / 1e6 - by; exit !(longer != "null" && shorter != "null" && far < 1 && far > -1) }'
}

verdict() {
    needs jq jq
    "$rpcrdma" -q transactions --json server.pcap >server.json || fault "the capture at the server's end is damaged"
    local at number phase short long by way longer times
    for at in transactions server; do
        for number in 1 2 3 4 5 6; do
            way=${ways[number - 1]}
            read -r _ _ longer times <<<"$way"
            for phase in call_ns responder_ns rdma_read_ns rdma_write_ns reply_ns requester_ns; do
                short=$(best "$at.json" $((2 * number - 1)) "$phase")
                long=$(best "$at.json" $((2 * number)) "$phase")
                by=0
                [ "$phase" != "$longer" ] || by=$((3 * times))
                # The server's own time is what a machine takes to wake up.
                [ "$phase" != responder_ns ] || [ "$longer" = responder_ns ] || continue
                printf '%-12s  %-28s %-12s %9s %9s\n' "$at" "$way" "$phase" "$short" "$long"
                is_longer "$long" "$short" "$by" || fault "$at, $way: $phase is not $by ms longer"
            done
        done
    done
}
