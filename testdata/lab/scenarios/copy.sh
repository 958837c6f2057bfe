# Our nfs4-cp writes files of ten sizes to Linux nfsd and reads them back; SHA-256 equal on both ends.
programs="nfs4-cp" peer="192.0.2.1"

server() {
    server_nfsd
}

client() {
    local size
    for size in 0 1 3 4 1023 1024 4096 65537 1048576 3000001; do
        copy "$size"
    done
}

verdict() {
    grep -q '"rebuilt":false' transactions.json && fault "not every RPC was rebuilt"
    grep -q 'WRITE"' transactions.json || fault "no WRITE was captured"
    grep -q 'READ"' transactions.json || fault "no READ was captured"
}
