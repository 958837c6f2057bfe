# Our rpcrdma-probe judges Linux nfsd. The verdicts are those of probe.expected.
programs="rpcrdma-probe" peer="192.0.2.1 192.0.2.2" seconds=400

server() {
    server_nfsd
    octets 1000 >/srv/export/file
    ln -s /a/path/of/27/octets/in/all /srv/export/link
}

client() {
    local status=0
    limit 300 rpcrdma-probe --json --silence 700ms --file file --link link "$server:$port" >/host/probe.json || status=$?
    # It violates some rules.
    [ "$status" -eq 1 ] || fail "rpcrdma-probe ended with $status"
}

verdict() {
    sed -nE 's/.*"type":"case".*"case":"([^"]+)","rule":"([^"]+)","section":"([^"]+)","expected":"([^"]+)","observed":"([^"]+)","verdict":"([^"]+)","alive_after":(true|false).*/\6\t\1\t\2\t\4\t\5\t\3/p' \
        share/probe.json >probe.table
    [ -s probe.table ] || fault "there are no verdicts"
    diff "$lab/probe.expected" probe.table || fault "other verdicts than expected: look at probe.table"
}
