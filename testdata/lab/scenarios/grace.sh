# Linux nfsd restarts under a mount of NFSv4.0: a file that is opened then waits for the end of the grace period.
peer="192.0.2.1 192.0.2.2" seconds=400

server() {
    server_nfsd
}

client() {
    modprobe -a rpcrdma nfsv4
    linux_mount 4.0
    exec {open}>/mnt/open
    step "nfsd restarts, with a grace period of 10 s"
    on_server "rpc.nfsd 0; rpc.nfsd --rdma=$port 4"
    limit 120 dd if=/dev/zero of=/mnt/hello.txt bs=1k count=1 status=none
    exec {open}>&-
    limit 60 umount /mnt
}

verdict() {
    needs jq jq
    local refused
    refused=$(grep -c NFS4ERR_GRACE transactions.json) || true
    echo "$refused RPCs were refused in the grace period"
    [ "$refused" -gt 0 ] || fault "nothing was refused in the grace period"
    "$rpcrdma" -q diagnose capture.pcap | tee diagnosis.txt || true
    grep -q "grace period" diagnosis.txt || fault "the grace period is not told"
}
