# A file that Linux has delegated to it is written by another client: nfsd recalls the delegation, and Linux returns it.
programs="nfs4-cp" peer="192.0.2.1 192.0.2.2" seconds=400

server() {
    # nfsd delegates nothing in lockd's grace period, which is five times this: 15 s, and not 50.
    modprobe lockd nlm_timeout=3
    server_nfsd
}

client() {
    modprobe -a rpcrdma nfsv4
    sleep 16
    linux_mount 4.1
    octets 100000 >/mnt/file
    sync
    exec {read}</mnt/file
    cat /mnt/file >/dev/null
    step "another client writes the file"
    octets 5000 >/tmp/here
    limit 100 nfs4-cp /tmp/here "nfs://$server/file"
    exec {read}<&-
    limit 60 umount /mnt
}

verdict() {
    needs jq jq
    for operation in CB_RECALL DELEGRETURN; do
        grep -q "\"$operation\"" transactions.json || fault "no $operation was captured"
    done
    "$rpcrdma" -q diagnose capture.pcap || true
    "$rpcrdma" -q pending --json capture.pcap >pending.json || true
    ! grep -q '"type":"pending"' pending.json || fault "a promise is open although it was kept"
}
