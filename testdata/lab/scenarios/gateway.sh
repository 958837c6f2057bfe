# The Linux client mounts nfsd through our gateway, over RDMA and over TCP; the gateway is killed in the middle of a copy.
programs="gateway" peer="192.0.2.1 192.0.2.2" seconds=900 incomplete=1

# Nfsd listens for TCP at 2049 too. Frames between two adapters of one machine do not reach a wire, so what is captured is between
# the client and the gateway in the server's machine or, for the gateway to RDMA, which runs in the client's machine, between the
# gateway and nfsd.
readonly at=20050

server() {
    server_nfsd
    octets 20000000 >/srv/export/large
    # Entries for 300 users in each of two lists, which take 7 kB over NFSv3, and 20 kB at least as an attribute of NFSv4. Nfsd of
    # Linux 6.1 answers SYSTEM_ERR over NFSv3 if one list is longer than a page.
    mkdir /srv/export/long-acl
    seq -f 'u:%.0f:r' 10001 10300 >/tmp/entries
    setfacl -M /tmp/entries /srv/export/long-acl
    setfacl -d -M /tmp/entries /srv/export/long-acl
}

# gateway_again DIRECTION ADDRESS SERVER: starts a gateway in this machine.
gateway_again() {
    gateway "$@" >>"/host/gateway-$1.txt" 2>&1 &
}

# mount_by RDMA_OR_TCP ADDRESS VERSION: mounts nfsd's export through the gateway at this address.
mount_by() {
    local root=/ side
    [ "$3" != 3 ] || root=/srv/export
    [ "$3" != 3 ] || side=,mountproto=tcp,mountaddr=$server
    limit 60 mount -t nfs -o "proto=$1,port=$at,vers=$3,nolock,timeo=50,retrans=2${side:-}" "$2:$root" /mnt
}

# compare: writes a file and reads another, through the mount.
compare() {
    octets 3000001 >/tmp/here
    limit 100 cp /tmp/here /mnt/written
    [ "$(on_server "digest /srv/export/written")" = "$(digest /tmp/here)" ] || fail "written wrong"
    [ "$(limit 100 cat /mnt/large | sha256sum | cut -d ' ' -f 1)" = "$(on_server "digest /srv/export/large")" ] || fail "read wrong"
    [ "$(ls /mnt)" = "$(on_server "ls /srv/export")" ] || fail "listed wrong"
}

# access_control_lists VERSION: a long one is read through the mount.
access_control_lists() {
    local length
    if [ "$1" = 3 ]; then
        [ "$(limit 60 getfacl -cpn /mnt/long-acl | sha256sum)" = "$(on_server "getfacl -cpn /srv/export/long-acl | sha256sum")" ] ||
            fail "another access control list"
        return
    fi
    length=$(limit 60 getfattr --absolute-names --only-values -n system.nfs4_acl /mnt/long-acl | wc -c)
    echo "an access control list of $length octets"
    [ "$length" -ge 20000 ] || fail "the access control list is too short"
}

# killed KILL START: the gateway is killed during a dd. The mount survives that.
killed() {
    echo 3 >/proc/sys/vm/drop_caches
    limit 200 dd if=/mnt/large of=/tmp/back bs=64k 2>/tmp/dd.txt &
    local dd=$!
    wait_for 60 test -s /tmp/back
    eval "$1"
    sleep 3
    eval "$2"
    wait "$dd" || { cat /tmp/dd.txt; fail "the copy did not survive a restart of the gateway"; }
    [ "$(digest /tmp/back)" = "$(on_server "digest /srv/export/large")" ] || fail "read wrong after a restart"
    rm /tmp/back
}

client() {
    local version
    modprobe -a nfsv3 nfsv4 rpcrdma
    for version in 3 4.1; do
        step "version $version: the client speaks RDMA, the server TCP"
        on_server "gateway_again from-rdma $server:$at 127.0.0.1:2049; sleep 1"
        mount_by rdma "$server" "$version"
        compare
        access_control_lists "$version"
        killed "on_server 'pkill -9 gateway'" "on_server 'gateway_again from-rdma $server:$at 127.0.0.1:2049'"
        limit 60 umount /mnt
        on_server "pkill -9 gateway"

        step "version $version: the client speaks TCP, the server RDMA"
        gateway_again to-rdma "192.0.2.2:$at" "$server:$port"
        sleep 1
        mount_by tcp 192.0.2.2 "$version"
        compare
        access_control_lists "$version"
        killed "pkill -9 gateway" "gateway_again to-rdma 192.0.2.2:$at $server:$port"
        limit 60 umount /mnt
        pkill -9 gateway
        tail -n 5 /host/gateway-*.txt
    done
}

verdict() {
    [ "$(grep -c 'READ' transactions.json)" -ge 10 ] || fault "too few READs were captured"
}
