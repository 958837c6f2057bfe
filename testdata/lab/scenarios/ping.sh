# Our rpcrdma-ping calls the NULL procedure of NFSv4 of Linux nfsd, twenty times.
programs="rpcrdma-ping" peer="192.0.2.1"

server() {
    server_nfsd
}

client() {
    limit 60 rpcrdma-ping -c 20 "$server:$port"
}

verdict() {
    local answered
    answered=$(grep -c '"name":"NFSv4 NULL".*"status":{"name":"SUCCESS"' transactions.json)
    [ "$answered" -eq 20 ] || fault "$answered NULL calls were answered, not 20"
}
