# The server's address moves to a MAC address at which nothing speaks RoCE: connection requests are never answered.
peer="192.0.2.1 192.0.2.2" seconds=500

server() {
    server_nfsd
    modprobe -a sch_ingress cls_u32 act_gact
}

# move ADDRESS: this machine announces another MAC address, and neither sends RoCE nor takes any that comes.
move() {
    local direction roce="protocol ip u32 match ip protocol 17 0xff match u16 4791 0xffff at 22"
    tc qdisc replace dev eth0 clsact
    for direction in ingress egress; do
        # shellcheck disable=SC2086
        tc filter add dev eth0 $direction $roce action trap
    done
    echo 1 >/proc/sys/net/ipv4/conf/eth0/arp_notify
    ip link set eth0 address "$1"
}

client() {
    modprobe -a rpcrdma nfsv4
    linux_mount 4.1
    octets 100000 >/mnt/file
    step "the address moves"
    on_server "move 02:00:00:00:00:aa"
    limit 100 ls /mnt && fail "nobody can have answered"
    echo "not answered, as it should"
}

verdict() {
    needs jq jq
    diagnoses connect-unanswered
    "$rpcrdma" -q connections capture.pcap
    "$rpcrdma" -q diagnose capture.pcap | tee diagnosis.txt || true
    grep -q "moved to another MAC address" diagnosis.txt || fault "the move is not told"
}
