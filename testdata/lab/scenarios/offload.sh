# Linux has nfsd copy a file: COPY, CB_OFFLOAD when it is done; then the same while every CB_OFFLOAD is lost.
peer="192.0.2.1 192.0.2.2" seconds=500

server() {
    server_nfsd
    modprobe -a sch_ingress cls_u32 act_gact
}

# cut: calls of nfsd to its clients (program 0x40000000) disappear as they leave this machine.
cut() {
    tc qdisc replace dev eth0 clsact
    tc filter add dev eth0 egress protocol ip u32 match ip protocol 17 0xff match u16 4791 0xffff at 22 \
        match u32 0x40000000 0xffffffff at 80 action trap
}

client() {
    modprobe -a rpcrdma nfsv4
    linux_mount 4.2
    octets 4000000 >/mnt/from
    sync
    limit 100 cp /mnt/from /mnt/to
    [ "$(on_server "digest /srv/export/to")" = "$(digest /mnt/from)" ] || fail "copied wrong"
    step "calls back are cut"
    on_server cut
    limit 60 cp /mnt/from /mnt/never && fail "nobody can have told"
    echo "not told, as it should"
}

verdict() {
    needs jq jq
    for operation in COPY CB_OFFLOAD; do
        grep -q "\"$operation\"" transactions.json || fault "no $operation was captured"
    done
    "$rpcrdma" -q pending capture.pcap || true
    "$rpcrdma" -q diagnose capture.pcap | tee diagnosis.txt || true
    grep -q "CB_OFFLOAD" diagnosis.txt || fault "the lost CB_OFFLOAD is not told"
}
