# Clients of our rpcrdma-serve share its Receives: each way of carrying data, more clients than Receives, clients that are killed.
programs="rpcrdma-ping rpcrdma-serve" incomplete=1

readonly one_port=20050

server() {
    server_ours --shared-receives 4
    rpcrdma-serve "0.0.0.0:$one_port" --shared-receives 1 >/host/serve-one.txt 2>&1 &
    sleep 1
    kill -0 "$!" || fail "the rpcrdma-serve with one Receive does not stay"
}

# call VERSION CARRY SIZE
call() {
    limit 60 rpcrdma-ping -c 2 --rpcrdma-version "$1" --program echo --carry "$2" --size "$3" "$server:$port"
}

client() {
    local version carry number killed
    for version in 1 2a 2b; do
        step "version $version: each way"
        call "$version" inline 500
        for carry in read write position-zero reply; do
            call "$version" "$carry" 4096
            call "$version" "$carry" 262144
        done
        [ "$version" = 1 ] || call "$version" continued 20000
    done

    step "sixteen clients at once"
    local clients=()
    for ((number = 0; number < 16; number++)); do
        limit 120 rpcrdma-ping -c 50 -i 0 --program echo --carry inline --size 900 "$server:$port" >"/tmp/$number.txt" 2>&1 &
        clients+=($!)
    done
    for number in "${!clients[@]}"; do
        wait "${clients[$number]}" || { cat "/tmp/$number.txt"; fail "a client was not answered"; }
    done

    # The first packets of a message make the adapter take a Receive from the queue. If one were lost, none would be left.
    step "eight clients of a server with one Receive are killed within a message, whose last packet does not come"
    on_server "lose_last_packets"
    for ((number = 0; number < 8; number++)); do
        rpcrdma-ping -c 1 --rpcrdma-version 1 --program echo --carry inline --size 3900 "$server:$one_port" >/tmp/killed.txt 2>&1 &
        killed=$!
        wait_for 30 are_connected
        sleep 1
        kill -9 "$killed" || fail "rpcrdma-ping ended by itself"
        wait "$killed" 2>/dev/null || true
        wait_for 60 all_are_gone
    done
    on_server "tc -s filter show dev eth0 ingress | grep Sent; tc qdisc del dev eth0 clsact"
    limit 60 rpcrdma-ping -c 2 --program echo --carry inline --size 3900 "$server:$one_port"
}

# lose_last_packets: Sends of several packets do not end, from now on.
lose_last_packets() {
    modprobe -a sch_ingress cls_u32 act_gact
    tc qdisc replace dev eth0 clsact
    # RoCEv2 has its opcode behind IPv4 and UDP: "RC SEND Last" is 2.
    tc filter add dev eth0 ingress protocol ip u32 match ip protocol 17 0xff match u16 4791 0xffff at 22 match u8 2 0xff at 28 action drop
}

connections() {
    on_server "awk '/has connected/ { open++ } /is gone/ { open-- } END { print open + 0 }' /host/serve-one.txt"
}

are_connected() {
    [ "$(connections)" -eq 1 ]
}

all_are_gone() {
    [ "$(connections)" -eq 0 ]
}

verdict() {
    each_form call reply
    grep -q '"status":{"name":"SUCCESS"' transactions.json || fault "nothing was answered"
}
