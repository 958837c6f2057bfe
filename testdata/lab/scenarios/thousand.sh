# 1,000 connections to our rpcrdma-serve, of which ten make calls, with Receives of their own, shared ones, and fewer credits: memory, descriptors, registrations, processor time per call.
programs="many rpcrdma-ping rpcrdma-serve" profile=dist memory=2500 seconds=3000

readonly count=1000

server() {
    ulimit -Sn 1024
    server_ours --connections "$count"
}

# meanwhile PROCESS: what rpcrdma-serve has while the connections are there.
meanwhile() {
    echo "$(on_server 'rdma resource show mr | grep -c rpcrdma-serve') registrations," \
        "$(on_server "ls /proc/$1/fd | wc -l") descriptors, $(on_server "ls /proc/$1/task | wc -l") threads"
}

# connected NAME OCTETS: connects the clients. Each connection may take so many octets of the server's memory.
connected() {
    local memory calls median each before after
    step "$1, $count connections"
    limit 60 rpcrdma-ping -c 1 "$server:$port"
    calls_of_many "$(on_server 'pidof rpcrdma-serve')" 30 "$count" $((count / 100)) "$port"
    read -r before after <<<"$memory"
    echo "$(((after - before) / count)) octets each; processor time of rpcrdma-serve: $each microseconds for each of $calls calls"
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
