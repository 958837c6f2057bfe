# The Linux client mounts the folder that our rpcrdma-serve has in memory, over NFSv3, and lists and reads all of it.
programs="rpcrdma-serve" peer="192.0.2.2"

# Linux exports the folder too, for the MOUNT protocol; what serves it over RDMA is ours, at the next port.
server() {
    server_nfsd
    rpcrdma-serve "0.0.0.0:$((port + 1))" --nfs >/host/serve.txt 2>&1 &
    sleep 1
    kill -0 "$!" 2>/dev/null || fail "rpcrdma-serve does not stay"
}

client() {
    limit 60 mount -t nfs -o "rdma,port=$((port + 1)),vers=3,nolock,soft,timeo=50,retrans=1,retry=0" "$server:/srv/export" /mnt
    [ "$(limit 60 ls /mnt | tr '\n' ' ')" = "file link scratch " ] || fail "listed wrong"
    [ "$(limit 60 readlink /mnt/link)" = /a/path/of/27/octets/in/all ] || fail "another link"
    [ "$(limit 60 stat -c '%s %F' /mnt/scratch)" = "0 regular empty file" ] || fail "scratch is not empty"
    [ "$(limit 60 sha256sum </mnt/file)" = "$(pattern | sha256sum)" ] || fail "read wrong"
    [ "$(limit 60 dd if=/mnt/file bs=1000 skip=7 count=1 iflag=direct | sha256sum)" = \
        "$(pattern | tail -c +7001 | head -c 1000 | sha256sum)" ] || fail "read wrong where READs begin anywhere"
    refuses 60 cat /mnt/missing
    limit 60 umount /mnt
}

verdict() {
    grep -q '"rebuilt":false' transactions.json && fault "not every RPC was rebuilt"
    grep -q 'NFSv3 READ"' transactions.json || fault "no READ was captured"
}
