# 1,000 connections to our rpcrdma-serve, of which ten make calls, with Receives of their own, shared ones, and fewer credits: memory, descriptors, registrations, processor time per call.
programs="many rpcrdma-ping rpcrdma-serve" profile=dist seconds=3000

readonly count=1000

server() {
    ulimit -Sn 1024
    server_ours --connections "$count"
}

# connected NAME OCTETS: connects the clients. Each connection may take so many octets of the server's memory.
connected() {
    local process before after from to calls
    process=$(on_server 'pidof rpcrdma-serve')
    limit 60 rpcrdma-ping -c 1 "$server:$port"
    before=$(memory_of "$process")
    rm -f /tmp/connected
    limit 1300 many "$server:$port" "$count" $((count / 100)) 30 /tmp/connected >/tmp/many.txt 2>&1 &
    local many=$!
    wait_for 1200 test -e /tmp/connected
    from=$(processor_of "$process")
    after=$(memory_of "$process")
    step "$1, $count connections: $(((after - before) / count)) octets each," \
        "$(on_server 'rdma resource show mr | grep -c rpcrdma-serve') registrations," \
        "$(on_server "ls /proc/$process/fd | wc -l") descriptors," \
        "$(on_server "ls /proc/$process/task | wc -l") threads"
    wait "$many" || { cat /tmp/many.txt; fail "the connections do not stay"; }
    cat /tmp/many.txt
    to=$(processor_of "$process")
    calls=$(sed -n 's/.* made \([0-9]*\) calls .*/\1/p' /tmp/many.txt)
    step "processor time of rpcrdma-serve: $(((to - from) * 1000 / calls)) microseconds for each of $calls calls"
    [ $((after - before)) -lt $(($2 * count)) ] || fail "$before octets before, $after after"
}

# again OPTIONS...: starts the server again.
again() {
    on_server "pkill rpcrdma-serve; sleep 5; ulimit -Sn 1024; server_ours --connections $count $*"
}

client() {
    connected "Receives of their own" 300000
    again --shared-receives 128
    connected "shared Receives" 150000
    again --shared-receives 128 --credits 8
    connected "shared Receives, eight credits" 150000
}

verdict() {
    [ "$(grep -c '"status":{"name":"SUCCESS"' transactions.json)" -ge 300 ] || fault "too few calls"
}
