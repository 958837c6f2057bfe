# A server ends the connection instead of answering, five calls in a row; the Linux client repeats each on a new connection.
programs="rpcrdma-serve" peer="192.0.2.1 192.0.2.2" seconds=400

# Linux exports the folder too, for the MOUNT protocol; what serves it over RDMA is ours, at the next port.
server() {
    server_nfsd
    {
        rpcrdma-serve "0.0.0.0:$((port + 1))" --time 200s --misbehave disconnect,disconnect,disconnect,disconnect,disconnect
        rpcrdma-serve "0.0.0.0:$((port + 1))" --nfs
    } >/host/serve.txt 2>&1 &
    sleep 1
}

client() {
    modprobe -a rpcrdma nfsv3
    limit 60 mount -t nfs -o "rdma,port=$((port + 1)),vers=3,nolock" "$server:/srv/export" /mnt
    limit 60 ls /mnt
    limit 60 umount /mnt
}

verdict() {
    needs jq jq
    diagnoses flapping
    "$rpcrdma" -q transactions --tries capture.pcap | tail -30
    "$rpcrdma" -q diagnose capture.pcap || true
}
