# The server's link is cut during a copy from it: nfs4-cp ends after its time-out, and its target is as it was.
programs="nfs4-cp" peer="192.0.2.1"

server() {
    server_nfsd
    truncate -s 300M /srv/export/large
}

# Something has arrived of the copy to /tmp/back.
begun() {
    find /tmp -name '.nfs4-cp-*' -size +2M | grep -q .
}

client() {
    step "a copy that is cut off leaves its target alone"
    echo before >/tmp/back
    refuses 60 nfs4-cp --timeout 8s "nfs://$server/large" /tmp/back 2>/tmp/said &
    local refused=$!
    wait_for 60 begun
    on_server "loss 100"
    SECONDS=0
    wait "$refused"
    echo "ended $SECONDS s after the cut: $(cat /tmp/said)"
    [ "$SECONDS" -le 20 ] || fail "it waited for $SECONDS s"
    grep -q "no reply within 8s (--timeout)\|the connection ended" /tmp/said || fail "said: $(cat /tmp/said)"
    [ "$(cat /tmp/back)" = before ] || fail "changed the target"
    ! find /tmp -name '.nfs4-cp-*' | grep -q . || fail "left a temporary file"
}

verdict() {
    grep -q 'READ".*"nfs_status":{"name":"[A-Z0-9]*_OK"' transactions.json || fault "nothing was read before the link was cut"
}
