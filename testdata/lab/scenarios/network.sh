# A network that holds frames for up to 8 ms each way, captured at both ends: where, follows from the acknowledgements.
programs="rpcrdma-ping rpcrdma-serve" both_ends=1 network=8000

server() {
    server_ours
}

# Of both carriers, something has to be sent in each direction that is acknowledged at once: for TCP, two segments.
client() {
    local carry
    for carry in inline inline; do
        limit 60 rpcrdma-ping -c 16 -i 0 -q --program echo --carry "$carry" --size 3500 "$server:$port"
    done
}

# place FILE: where each of its connections was captured.
place() {
    "$rpcrdma" -q stats --json "$1" | jq -c 'select(.type == "stats") | [.connections[] | .captured_at]'
}

verdict() {
    needs jq jq
    local at
    for at in capture:client server:server; do
        [ "$(place "${at%:*}.pcap")" = "[\"${at#*:}\",\"${at#*:}\"]" ] || fault "${at%:*}.pcap: $(place "${at%:*}.pcap")"
    done
    "$rpcrdma" -q stats capture.pcap | grep captured
    "$rpcrdma" -q stats server.pcap | grep captured
}
