# Our rpcrdma-probe judges Linux nfsd. The verdicts are those of expected/server-linux-*.tsv for its kernel.
programs="rpcrdma-probe" peer="192.0.2.1 192.0.2.2" seconds=400

server() {
    # nfsd delegates nothing in lockd's grace period, which is five times this: 15 s, and not 50.
    modprobe lockd nlm_timeout=3
    server_nfsd
    octets 1000 >/srv/export/file
    octets 1000 >/srv/export/scratch
    ln -s /a/path/of/27/octets/in/all /srv/export/link
}

client() {
    local status=0
    limit 300 rpcrdma-probe --tsv --silence 700ms --file file --link link --scratch scratch --delegate delegated "$server:$port" >/host/probe.tsv || status=$?
    # It violates some rules.
    [ "$status" -eq 1 ] || fail "rpcrdma-probe ended with $status"
}

verdict() {
    [ -s share/probe.tsv ] || fault "there are no verdicts"
    diff <(tail -n +2 "$lab/expected/server-linux-$linux.tsv") share/probe.tsv || fault "other verdicts than expected"
}
