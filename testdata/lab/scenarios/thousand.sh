# 1,000 connections to our rpcrdma-serve, of which ten make calls, with Receives of their own, shared ones, and fewer credits: memory, descriptors, registrations, processor time per call.
programs="many rpcrdma-ping rpcrdma-serve" profile=dist seconds=3000

readonly count=1000

server() {
    ulimit -Sn 1024
    server_ours --connections "$count"
}

# of_server FIELD: a field in the status of rpcrdma-serve, in KiB.
of_server() {
    on_server "awk '/^$1:/ { print \$2 }' /proc/\$(pidof rpcrdma-serve)/status"
}

# processor: processor time of rpcrdma-serve so far, in ms.
processor() {
    on_server "awk '{ print (\$14 + \$15) * 10 }' /proc/\$(pidof rpcrdma-serve)/stat"
}

# connected NAME KIB: connects the clients. Each connection may take so many KiB of the server's memory.
connected() {
    local before after from to calls
    limit 60 rpcrdma-ping -c 1 "$server:$port"
    before=$(of_server VmRSS)
    rm -f /tmp/connected
    limit 1300 many "$server:$port" "$count" 30 /tmp/connected >/tmp/many.txt 2>&1 &
    local many=$!
    wait_for 1200 test -e /tmp/connected
    from=$(processor)
    after=$(of_server VmRSS)
    step "$1, $count connections: $(((after - before) / count)) KiB each," \
        "$(on_server 'rdma resource show mr | grep -c rpcrdma-serve') registrations," \
        "$(on_server "ls /proc/\$(pidof rpcrdma-serve)/fd | wc -l") descriptors," \
        "$(on_server "ls /proc/\$(pidof rpcrdma-serve)/task | wc -l") threads"
    wait "$many" || { cat /tmp/many.txt; fail "the connections do not stay"; }
    cat /tmp/many.txt
    to=$(processor)
    calls=$(sed -n 's/.* made \([0-9]*\) calls .*/\1/p' /tmp/many.txt)
    step "processor time of rpcrdma-serve: $(((to - from) * 1000 / calls)) microseconds for each of $calls calls"
    [ $((after - before)) -lt $(($2 * count)) ] || fail "$before KiB before, $after KiB after"
}

# again OPTIONS...: starts the server again.
again() {
    on_server "pkill rpcrdma-serve; sleep 5; ulimit -Sn 1024; server_ours --connections $count $*"
}

client() {
    connected "Receives of their own" 290
    again --shared-receives 128
    connected "shared Receives" 147
    again --shared-receives 128 --credits 8
    connected "shared Receives, eight credits" 140
}

verdict() {
    [ "$(grep -c '"status":{"name":"SUCCESS"' transactions.json)" -ge 300 ] || fault "too few calls"
}
