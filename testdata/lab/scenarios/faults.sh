# Whatever keeps our programs from connecting is named as what it is, with advice: rpcrdma-ping, nfs4-cp, rpcrdma-serve.
programs="rpcrdma-ping rpcrdma-serve nfs4-cp reject" seconds=600 incomplete=1

server() {
    server_ours --nfs
}

# serve_with COMMAND...: starts our server on the server machine anew, by this command.
serve_with() {
    on_server "! pkill rpcrdma-serve || sleep 1; $* >/host/serve.txt 2>&1 & wait_for 20 grep -q listening /host/serve.txt"
}

# named FILE CAUSE ADVICE: both are there.
named() {
    local words
    for words in "${@:2}"; do
        grep -qF -- "$words" "$1" || fail "it does not say: $words"
    done
}

# fails CAUSE ADVICE COMMAND...: it has to fail by itself, and to say both.
fails() {
    refuses 60 "${@:3}" 2>&1 | tee /tmp/said
    named /tmp/said "$1" "$2"
}

# both ADDRESS CAUSE ADVICE [COMMAND...]: both clients fail to connect there, run by this command.
both() {
    fails "$2" "$3" "${@:4}" rpcrdma-ping -c 1 "$1"
    fails "$2" "$3" "${@:4}" nfs4-cp --list "nfs://$1/"
}

# A command follows: a user that is not root, who may lock more memory than the limit (CAP_IPC_LOCK).
readonly as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)

locked_memory() {
    local octets
    for octets in 0 8192; do
        step "a client may lock $octets octets of memory"
        both "$server:$port" "the process may not lock more memory" "raise the limit of locked memory (\`ulimit -l\`)" \
            "${as_user[@]}" prlimit --memlock="$octets"
    done
    step "the data of a call exceeds the memory that may be locked"
    fails "could not be registered: the process may not lock more memory" "\`ulimit -l\`" \
        "${as_user[@]}" prlimit --memlock=1048576 rpcrdma-ping -c 1 --program echo --carry write --size 1048576 "$server:$port"
    step "a server may lock 64 KiB of memory"
    serve_with "${as_user[*]} prlimit --memlock=65536 rpcrdma-serve 0.0.0.0:$port"
    both "$server:$port" "the other side rejected the connection" "the server's log may say why"
    cat /host/serve.txt
    named /host/serve.txt "could not connect: the process may not lock more memory" "\`ulimit -l\`"
    serve_with "rpcrdma-serve 0.0.0.0:$port"
}

addresses() {
    step "no route"
    both "198.51.100.1:$port" "the adapter has no route to that address" "\`ip route get\`"
    step "the route leads through an interface without an adapter"
    both "127.0.0.1:$port" "the adapter has no route to that address" "\`rdma link\` has to list its interface"
    step "no host"
    both "192.0.2.77:$port" "no host at that address answers" "\`ip neighbour\`"
    step "nobody listens"
    both "$server:$((port + 1))" "no server accepts connections at that address" "is a server running there"
    step "a server at an address of another host, and at one that is in use"
    fails "the address is in use, or not the adapter's" "\`ip address\`" rpcrdma-serve "192.0.2.77:$port"
    on_server "fails \"the address is in use\" \"is free when its program has ended\" rpcrdma-serve $server:$port"
}

rejections() {
    step "the server rejects, with private data"
    on_server "reject $server:$((port + 1)) 'no more clients' >/host/reject.txt 2>&1 & wait_for 20 grep -q listening /host/reject.txt"
    both "$server:$((port + 1))" 'the other side rejected the connection: "no more clients"' "the server's log may say why"
    step "the server has as many connections as it allows"
    serve_with "rpcrdma-serve --connections 1 0.0.0.0:$port"
    rpcrdma-ping -c 1000 "$server:$port" >/tmp/first.txt 2>&1 &
    local first=$!
    wait_for 30 grep -q xid= /tmp/first.txt
    both "$server:$port" 'the other side rejected the connection: "the server has as many connections as it allows"' \
        "it may have too many connections"
    kill "$first"
    cat /host/serve.txt
    named /host/serve.txt "could not connect: the server has as many connections as it allows" "--connections"
    serve_with "rpcrdma-serve 0.0.0.0:$port"
}

silence() {
    step "the server's frames are lost"
    ip neighbour replace "$server" lladdr 02:00:00:00:00:01 dev eth0 nud permanent
    on_server "loss 100"
    both "$server:$port" "timed out waiting for an answer" "does a firewall let UDP port 4791 (RoCE) pass?"
    on_server "tc qdisc delete dev eth0 root"
    ip neighbour delete "$server" dev eth0
}

# at_most NUMBER COMMAND...: runs it with this many descriptors at most.
at_most() {
    limit 60 prlimit --nofile="$1:$1" "${@:2}"
}

# With too few descriptors, at whatever point they are used up, that is what is said. With more, a call is answered.
descriptors() {
    local number enough='' rejected=''
    step "a client from 4 to 30 descriptors"
    for ((number = 4; number <= 30; number++)); do
        if at_most "$number" rpcrdma-ping -q -c 1 "$server:$port" >/tmp/said 2>&1; then
            enough=${enough:-$number}
            continue
        fi
        [ -z "$enough" ] || fail "$enough descriptors were enough, and $number are not: $(cat /tmp/said)"
        named /tmp/said "the process has too many open files" "\`ulimit -n\`"
    done
    echo "enough: ${enough:-none}"
    [ -n "$enough" ] || fail "30 descriptors are not enough"
    step "a server from 4 descriptors to as many as it needs for one client"
    for ((number = 4; number <= 30; number++)); do
        on_server "pkill rpcrdma-serve || true; at_most $number rpcrdma-serve 0.0.0.0:$port >/host/serve.txt 2>&1 & sleep 2"
        ! limit 60 rpcrdma-ping -q -c 1 "$server:$port" >/tmp/said 2>&1 || break
        named /host/serve.txt "the process has too many open files" "\`ulimit -n\`"
        ! grep -q "could not connect" /host/serve.txt || rejected=$number
    done
    echo "enough: $number; a client is rejected with: ${rejected:-none}"
    [ "$number" -le 30 ] || fail "30 descriptors are not enough"
    [ -n "$rejected" ] || fail "no client was rejected, so this does not show what the server's log says then"
    serve_with "rpcrdma-serve 0.0.0.0:$port"
}

permission() {
    step "the user may not open the device files"
    chmod 600 /dev/infiniband/*
    both "$server:$port" "no permission to use the RDMA adapter" "read and write access to the files in /dev/infiniband" \
        "${as_user[@]}"
    chmod 666 /dev/infiniband/*
}

# Soft RoCE of Linux 6.1 sets up no connection any more after its link was down: the adapter is made anew.
link() {
    step "the port is down"
    ip link set eth0 down
    both "$server:$port" "the port of the RDMA adapter is down" "\`rdma link\` shows the state of the port"
    ip link set eth0 up
    sleep 5

    step "there is no adapter"
    limit 60 rdma link delete "${adapter}0"
    both "$server:$port" "no such RDMA adapter" "rdma link add rxe0 type rxe netdev eth0"
    fails "no such RDMA adapter" "rdma link add" rpcrdma-serve "192.0.2.2:$port"
    rdma link add "${adapter}0" type "$adapter" netdev eth0

    step "the adapter is removed during calls"
    refuses 60 rpcrdma-ping -q -c 1000000 -i 0 "$server:$port" >/tmp/said 2>&1 &
    local calls=$!
    sleep 3
    limit 60 rdma link delete "${adapter}0"
    wait "$calls" || { cat /tmp/said; exit 1; }
    cat /tmp/said
    named /tmp/said "this side's RDMA adapter was removed" "connect again when \`rdma link\` lists it"
}

client() {
    locked_memory
    addresses
    rejections
    silence
    permission
    descriptors
    link
}

verdict() {
    grep -q '"status":{"name":"SUCCESS"' transactions.json || fault "no call was answered"
}
