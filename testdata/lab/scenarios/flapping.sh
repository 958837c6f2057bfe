# A server ends the connection instead of answering, call after call; the Linux client repeats each on a new connection.
programs="rpcrdma-serve" peer="192.0.2.2" seconds=400

server() {
    server_ours --misbehave "disconnect,disconnect,disconnect,disconnect,disconnect" --time 200s
}

client() {
    modprobe -a rpcrdma nfsv3
    linux_mount 3
    limit 100 cat /mnt/file >/dev/null
    limit 60 umount /mnt
}

verdict() {
    needs jq jq
    diagnoses retried
    "$rpcrdma" -q transactions --tries capture.pcap | tail -40
    "$rpcrdma" -q diagnose capture.pcap || true
}
