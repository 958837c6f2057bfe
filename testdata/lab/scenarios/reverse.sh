# Linux nfsd recalls delegations: rpcrdma-probe answers rightly, and with a Send that is too short.
programs="rpcrdma-probe" peer="192.0.2.1 192.0.2.2"

server() {
    # nfsd delegates nothing in lockd's grace period, which is five times this: 15 s, and not 50.
    modprobe lockd nlm_timeout=3
    server_nfsd
}

client() {
    local status=0
    sleep 16
    limit 200 rpcrdma-probe --tsv --silence 700ms --delegate delegated --case reverse-reply,reverse-short "$server:$port" \
        >/host/probe.tsv || status=$?
    [ "$status" -eq 1 ] || fail "rpcrdma-probe ended with $status"
}

verdict() {
    diff <(grep -P '\treverse-(reply|short)\t' "$lab/expected/server-linux-$linux.tsv") share/probe.tsv ||
        fault "other verdicts than expected"
}
