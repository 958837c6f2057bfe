# Linux nfsd and the Linux client: proves the lab itself, and that what it captures is read and judged.
peer="192.0.2.1 192.0.2.2"

server() {
    server_nfsd
    octets 3000001 >/srv/export/down.bin
}

client() {
    local version
    for version in 3 4.0 4.1 4.2; do
        step "NFSv$version: reads 3000001 octets, writes 197001"
        linux_mount "$version"
        [ "$(digest /mnt/down.bin)" = "$(on_server 'digest /srv/export/down.bin')" ] || fail "read something else"
        octets 197001 >/tmp/up.bin
        cp /tmp/up.bin "/mnt/up-$version.bin"
        umount /mnt
        [ "$(digest /tmp/up.bin)" = "$(on_server "digest /srv/export/up-$version.bin")" ] || fail "wrote something else"
    done
}

# The checker knows one fault of Linux 6.1, and it shows: so the checker reads what the lab captures.
verdict() {
    grep -q '"rule":"invalidate-foreign"' findings.json || fault "nfsd was not seen to invalidate what it has not announced"
    grep -q '"rebuilt":false' transactions.json && fault "not every RPC was rebuilt"
    [ "$(grep -c 'WRITE"' transactions.json)" -ge 4 ] || fault "fewer than four WRITEs were captured"
}
