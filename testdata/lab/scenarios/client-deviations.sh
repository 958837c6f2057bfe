# Of the replies of rpcrdma-serve --misbehave, those that the Linux client makes too much of, for a short capture.
programs="rpcrdma-serve" peer="192.0.2.1 192.0.2.2"

# Linux exports the folder too, for the MOUNT protocol; what serves it over RDMA is ours, at the next port.
server() {
    server_nfsd
    rpcrdma-serve "0.0.0.0:$((port + 1))" --tsv --silence 3s --time 250s \
        --misbehave short,procedure-9,flag-2,nomsg-empty,no-payload,error-unknown,length-beyond \
        >/host/misbehave.tsv 2>/host/serve.txt &
    sleep 1
}

is_over() {
    ! on_server "pidof rpcrdma-serve" >/dev/null
}

# Whatever becomes of a mount or of reading the folder, the next one comes, until each defect was used.
client() {
    local tries
    for ((tries = 0; tries < 30; tries++)); do
        ! is_over || return 0
        if limit 60 mount -t nfs -o "rdma,port=$((port + 1)),vers=3,nolock,soft,timeo=50,retrans=1,retry=0" \
            "$server:/srv/export" /mnt; then
            limit 60 ls /mnt || true
            umount -f /mnt || umount -l /mnt
            # Another call would look as if it came of the last defect.
            sleep 4
        fi
    done
    fail "not every defect was used"
}

verdict() {
    diff <(grep -P '^(violates|hazard)\t' "$lab/expected/client-linux-$linux.tsv") share/misbehave.tsv ||
        fault "these are not all defects of which the client makes too much"
}
