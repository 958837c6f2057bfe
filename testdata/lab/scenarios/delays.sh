# Our server waits on purpose: before it carries out a call, before each RDMA Read, before the RDMA Writes.
programs="rpcrdma-ping rpcrdma-serve" both_ends=1

# Each has a connection of its own: how its calls carry data, and what our server waits for. The three in the middle wait 2 ms,
# and the last three 12 ms: an idle machine takes time to wake up, and that is the same for both. Longer delays show that the
# clock of an emulated machine is some per cent too slow or too fast.
readonly ways=(
    "inline" "read" "write"
    "inline --delay 2ms" "read --delay-read 2ms" "write --delay-write 2ms"
    "inline --delay 12ms" "read --delay-read 12ms" "write --delay-write 12ms"
)

server() {
    server_ours
}

client() {
    local way carry options
    for way in "${ways[@]}"; do
        read -r carry options <<<"$way"
        step "$way"
        [ -z "$options" ] ||
            on_server "pkill rpcrdma-serve; wait_for 20 bash -c '! pgrep rpcrdma-serve'; server_ours $options"
        limit 60 rpcrdma-ping -c 10 -i 0 -q --program echo --carry "$carry" --size 500 "$server:$port"
    done
}

# best RPCS CONNECTION PHASE: the least of this phase of its calls, in nanoseconds. Emulated machines are slow at times, but
# no call is faster than its delay.
best() {
    jq -s --argjson connection "$2" "[.[] | select(.connection == \$connection) | .phases.$3 // empty] | min" "$1"
}

# is_longer LONGER SHORTER MILLISECONDS: within one.
is_longer() {
    awk -v longer="$1" -v shorter="$2" -v by="$3" \
        'BEGIN { far = (longer - shorter) / 1e6 - by; exit !(longer != "null" && shorter != "null" && far < 1 && far > -1) }'
}

# A delay is time of the responder, and all other phases are as they are without one.
verdict() {
    needs jq jq
    "$rpcrdma" -q transactions --json server.pcap >server.json || fault "the capture at the server's end is damaged"
    local at number phase none short long
    for at in transactions server; do
        for number in 1 2 3; do
            for phase in call_ns responder_ns rdma_read_ns rdma_write_ns reply_ns requester_ns; do
                none=$(best "$at.json" "$number" "$phase")
                short=$(best "$at.json" $((number + 3)) "$phase")
                long=$(best "$at.json" $((number + 6)) "$phase")
                printf '%-12s  %-24s %-12s %9s %9s %9s\n' "$at" "${ways[number + 5]}" "$phase" "$none" "$short" "$long"
                if [ "$phase" = responder_ns ]; then
                    is_longer "$long" "$short" 10 || fault "$at, ${ways[number + 5]}: not 10 ms longer than with 2 ms"
                    [ "$short" -ge 2000000 ] || fault "$at, ${ways[number + 2]}: shorter than the delay"
                else
                    is_longer "$long" "$none" 0 || fault "$at, ${ways[number + 5]}: $phase is longer than without a delay"
                fi
            done
        done
    done
}
