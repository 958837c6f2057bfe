# The Linux client mounts and reads from our rpcrdma-serve, which misbehaves. The verdicts are those of expected/client-linux-*.tsv for its kernel.
programs="rpcrdma-serve" peer="192.0.2.1 192.0.2.2" seconds=1000

# Linux exports the folder too, for the MOUNT protocol; what serves it over RDMA is ours, at the next port.
server() {
    server_nfsd
    # All but invalidate-unannounced: Linux announces that its memory may be invalidated.
    rpcrdma-serve "0.0.0.0:$((port + 1))" --tsv --silence 3s --time 800s --misbehave grant-huge,grant-zero,duplicate,segment-count,\
length-beyond,read-list,cut-lists,short,procedure-9,flag-2,nomsg-empty,no-payload,error-unknown,error-chunk,xid-mismatch,\
version-3,wrong-xid,silence,late-write,invalidate-unknown,disconnect >/host/misbehave.tsv 2>/host/serve.txt &
    sleep 1
}

is_over() {
    ! on_server "pidof rpcrdma-serve" >/dev/null
}

# Whatever becomes of a mount or a READ, the next one comes, until each defect was used.
client() {
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        ! is_over || return 0
        if limit 60 mount -t nfs -o "rdma,port=$((port + 1)),vers=3,nolock,soft,timeo=50,retrans=1,retry=0" \
            "$server:/srv/export" /mnt; then
            limit 60 ls /mnt || true
            limit 60 dd if=/mnt/file of=/dev/null bs=32k count=1 iflag=direct || true
            umount -f /mnt || umount -l /mnt
        fi
    done
    fail "not every defect was used"
}

# The call before `silence` is unanswered too. When it times out, Linux connects anew for the next call, and may end that connection
# as well and repeat the call on another: which of the two depends on the speed of the machines.
verdict() {
    diff <(tail -n +2 "$lab/expected/client-linux-$linux.tsv") \
        <(sed '/\tsilence\tnone\t/s/retry on a new connection/silence/' share/misbehave.tsv) || fault "other verdicts than expected"
}
