# The server's adapter is removed, while calls are made, while a connection is idle, while there is none: our server says so and ends.
programs="rpcrdma-ping rpcrdma-serve" seconds=600

server() {
    true
}

# serve ADDRESS: starts our server there.
serve() {
    on_server "rm -f /host/serve.status
        (status=0; rpcrdma-serve '$1' >/host/serve.txt 2>&1 || status=\$?; echo \$status >/host/serve.status) &
        wait_for 20 grep -q listening /host/serve.txt"
}

# remove ADDRESS: removes the adapter. Our server, started there, has to end and say why.
remove() {
    on_server "limit 30 rdma link delete ${adapter}0"
    wait_for 30 test -s /host/serve.status
    tail -2 /host/serve.txt
    [ "$(cat /host/serve.status)" -eq 2 ] || fail "it ended with status $(cat /host/serve.status)"
    grep -qF "cannot serve at $1: the RDMA adapter was removed" /host/serve.txt || fail "it does not say why it ended"
    on_server "rdma link add ${adapter}0 type $adapter netdev eth0"
}

# calls SECONDS: makes calls to $to, so many seconds apart, while the adapter is removed. They have to end by an error.
calls() {
    local refused
    refuses 60 rpcrdma-ping -c 1000000 -i "$1" "$to" >/tmp/refused.txt 2>&1 &
    refused=$!
    wait_for 30 grep -q xid= /tmp/refused.txt
    remove "$address"
    wait "$refused" || { tail -3 /tmp/refused.txt; exit 1; }
    tail -5 /tmp/refused.txt
    grep -q "the connection ended before" /tmp/refused.txt || fail "the client does not say that the connection ended"
}

# The server at [::] is called over IPv6: soft iWARP rejects connections over IPv4 there.
client() {
    local address to
    on_server "ip address add 2001:db8::1/64 dev eth0 nodad"
    ip address add 2001:db8::2/64 dev eth0 nodad
    for address in "$server:$port" "0.0.0.0:$port" "[::]:$port"; do
        to="$server:$port"
        [ "$address" != "[::]:$port" ] || to="[2001:db8::1]:$port"
        step "$address: removed while calls are made"
        serve "$address"
        calls 0

        step "$address: removed while a connection is idle"
        serve "$address"
        calls 5

        step "$address: removed before anybody connects"
        serve "$address"
        remove "$address"
    done
}

verdict() {
    [ "$(grep -c '"status":{"name":"SUCCESS"' transactions.json)" -ge 6 ] || fault "too few calls were answered before"
}
