# The Linux client tries to mount our rpcrdma-serve, which speaks every version: its NULL call is answered, the mount then fails.
programs="rpcrdma-serve" peer="192.0.2.2"

server() {
    server_ours
}

client() {
    local version
    for version in 4.0 4.1 4.2; do
        step "NFSv$version"
        refuses 60 mount -t nfs -o "rdma,port=$port,vers=$version,retry=0,soft,timeo=50,retrans=1" "$server:/" /mnt
    done
    on_server "kill -0 \$(pidof rpcrdma-serve)" || fail "rpcrdma-serve has ended"
    on_server "grep -q 'speaks RPC-over-RDMA version 1,' /host/serve.txt" || fail "it is not said that version 1 was agreed"
}

verdict() {
    grep -q '"requester":"192.0.2.2".*"name":"NFSv4 NULL".*"status":{"name":"SUCCESS"' transactions.json ||
        fault "no NULL call of the Linux client was answered"
}
