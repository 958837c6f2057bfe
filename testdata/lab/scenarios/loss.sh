# 2 % of the frames are lost in both directions: our client with Linux nfsd still copies right.
programs="rpcrdma-ping nfs4-cp" peer="192.0.2.1"

server() {
    server_nfsd
}

client() {
    on_server "loss 2"
    loss 2
    limit 120 rpcrdma-ping -c 20 "$server:$port"
    local size
    for size in 1 1024 65537 1048576; do
        copy "$size"
    done
}

# Something was lost and retransmitted, or the scenario shows nothing.
verdict() {
    grep -q '"retransmitted":[1-9]' stats.json || fault "nothing was retransmitted"
}
