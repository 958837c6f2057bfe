# Our rpcrdma-ping and our rpcrdma-serve: the echo carried in every way there is, in many sizes.
programs="rpcrdma-ping rpcrdma-serve"

server() {
    server_ours
}

client() {
    step "inline"
    local carry size
    for size in 0 1 3 4 500; do
        limit 60 rpcrdma-ping -c 2 --program echo --carry inline --size "$size" "$server:$port"
    done
    for carry in read write position-zero reply; do
        step "$carry"
        for size in 1 3 4 1023 1024 4096 65537 262144; do
            limit 60 rpcrdma-ping -c 2 --program echo --carry "$carry" --size "$size" "$server:$port"
        done
    done
}

# Each way was gone: argument inline, in a Read chunk, in a long Call; result inline, in a Write chunk, in a long Reply.
verdict() {
    each_form call reply
    grep -q '"rebuilt":false' transactions.json && fault "not every RPC was rebuilt"
    grep -q '"status":{"name":"SUCCESS"' transactions.json || fault "nothing was answered"
}
