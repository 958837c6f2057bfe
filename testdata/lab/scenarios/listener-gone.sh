# Linux nfsd is stopped under a mount: the client's connection requests are rejected, because nobody listens.
peer="192.0.2.1 192.0.2.2" seconds=400

server() {
    server_nfsd
}

client() {
    modprobe -a rpcrdma nfsv4
    linux_mount 4.1
    octets 100000 >/mnt/file
    step "nfsd is stopped, and the client looks again"
    on_server "rpc.nfsd 0"
    limit 40 ls /mnt && fail "nobody can have answered"
    echo "not answered, as it should"
}

verdict() {
    needs jq jq
    diagnoses server-not-listening
    "$rpcrdma" -q connections capture.pcap
    "$rpcrdma" -q diagnose capture.pcap | tee diagnosis.txt || true
    grep -q "nothing listens on the port" diagnosis.txt || fault "the reason is not told in words"
}
