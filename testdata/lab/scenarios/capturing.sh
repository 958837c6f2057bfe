# tcpdump captures on the client's network interface, with the options that GUIDE.md gives, while the Linux client reads and writes.
peer="192.0.2.1 192.0.2.2"

server() {
    server_nfsd
    octets 300001 >/srv/export/down.bin
}

client() {
    local dump
    tcpdump --version
    tcpdump -D
    # /host belongs to root, who tcpdump is no longer when it opens the files of a ring.
    tcpdump -Z root -i eth0 -s 256 -w /host/short.pcap udp port 4791 or tcp port 20049 2>/host/short.txt &
    tcpdump -Z root -i eth0 -B 65536 -w /host/whole.pcap udp port 4791 or tcp port 20049 2>/host/whole.txt &
    tcpdump -Z root -i eth0 -C 1 -W 20 -w /host/ring.pcap udp port 4791 2>/host/ring.txt &
    sleep 5
    step "NFSv4.1: reads 300001 octets, writes 1197001"
    linux_mount 4.1
    [ "$(digest /mnt/down.bin)" = "$(on_server 'digest /srv/export/down.bin')" ] || fail "read something else"
    octets 1197001 >/mnt/up.bin
    umount /mnt
    sleep 3
    for dump in $(pgrep tcpdump); do kill -INT "$dump"; done
    sleep 2
    cat /host/short.txt /host/whole.txt /host/ring.txt
    # Counters of the adapter.
    rdma statistic
}

# Prints the numbers of packets and of messages in the files.
seen() {
    "$rpcrdma" -q stats --json "$@" | grep -o '"packets":[0-9]*\|"messages":{"total":[0-9]*' | sort -u
}

verdict() {
    local capture expected
    expected=$(seen capture.pcap)
    for capture in short whole ring; do
        [ "$(seen share/"$capture".pcap*)" = "$expected" ] || fault "$capture.pcap does not have every packet and message"
    done
    [ "$(find share -name 'ring.pcap*' | wc -l)" -gt 1 ] || fault "the ring has one file only"
}
