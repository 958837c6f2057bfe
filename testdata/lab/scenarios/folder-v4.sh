# The Linux client mounts the folder that our rpcrdma-serve has in memory, over NFSv4.1, lists it and reads it; mounts of
# NFSv4.0 and NFSv4.2 are refused, and Linux says why.
programs="rpcrdma-serve" peer="192.0.2.2"

server() {
    server_ours --nfs
}

# mount_folder OPTIONS
mount_folder() {
    limit 60 mount -t nfs -o "rdma,port=$port,soft,timeo=50,retrans=1,retry=0,$1" "$server:/" /mnt
}

# refused VERSION: mount says that the server does not have it.
refused() {
    ! mount_folder "vers=$1" 2>/tmp/said || fail "mounted over NFSv$1"
    cat /tmp/said
    grep -qi "protocol not supported\|not supported" /tmp/said || fail "said of NFSv$1: $(cat /tmp/said)"
}

client() {
    step "NFSv4.1"
    mount_folder vers=4.1
    grep ' /mnt ' /proc/mounts
    limit 60 ls -lR /mnt | tee /host/list.txt
    [ "$(limit 60 ls /mnt | tr '\n' ' ')" = "file link scratch " ] || fail "listed wrong"
    [ "$(limit 60 readlink /mnt/link)" = /a/path/of/27/octets/in/all ] || fail "another link"
    [ "$(limit 60 stat -c '%s %a %u %g %F' /mnt/file)" = "65536 444 0 0 regular file" ] || fail "other attributes"
    [ "$(limit 60 stat -c '%s %F' /mnt/scratch)" = "0 regular empty file" ] || fail "scratch is not empty"
    [ "$(limit 60 sha256sum </mnt/file)" = "$(pattern | sha256sum)" ] || fail "read wrong"
    [ "$(limit 60 dd if=/mnt/file bs=1000 skip=7 count=1 iflag=direct | sha256sum)" = \
        "$(pattern | tail -c +7001 | head -c 1000 | sha256sum)" ] || fail "read wrong where READs begin anywhere"

    step "the same file twice at once"
    SECONDS=0
    exec 7</mnt/file
    exec 8</mnt/file
    [ "$(sha256sum <&7)" = "$(sha256sum <&8)" ] || fail "read differently"
    exec 7<&- 8<&-
    # Linux waits for five seconds if the stateids of two OPENs are not in order.
    [ "$SECONDS" -lt 5 ] || fail "it took $SECONDS s"
    refuses 60 cat /mnt/missing
    refuses 60 touch /mnt/file
    limit 60 umount /mnt

    step "what the server lacks"
    refused 4.0
    refused 4.2

    step "any minor version"
    mount_folder vers=4
    grep ' /mnt .*vers=4.1' /proc/mounts || fail "another version"
    [ "$(limit 60 sha256sum </mnt/file)" = "$(pattern | sha256sum)" ] || fail "read wrong"
    limit 60 umount /mnt
}

verdict() {
    grep -q '"rebuilt":false' transactions.json && fault "not every RPC was rebuilt"
    grep -q 'READ"' transactions.json || fault "no READ was captured"
}
