# Known frames are lost, of either end and either side of the capture: what was retransmitted is as many as the kernels count.
programs="rpcrdma-ping rpcrdma-serve" both_ends=1 seconds=400

# Each on a connection of its own: the end at which frames are lost; whether that is what comes in, after it was captured, or what
# goes out, before; each how many of which frames; how calls carry data, of how many octets; how many calls. Some come twice.
rows() {
    if [ "$adapter" = siw ]; then
        cat <<END
server ingress 5 end inline 500 12
client ingress 5 end inline 500 12
client ingress 10 full write 8000 5
server ingress 10 full read 8000 5
server egress 10 full write 8000 5
client egress 10 full read 8000 5
client twice 25 data inline 500 12
server twice 25 data inline 500 12
END
    else
        cat <<END
server ingress 5 send inline 500 12
client ingress 5 send inline 500 12
client ingress 12 write write 8000 5
server ingress 12 response read 8000 5
server egress 12 write write 8000 5
client egress 12 response read 8000 5
client twice 25 any inline 500 12
server twice 25 any inline 500 12
END
    fi
}

# frames NAME: how they are matched. RoCEv2 has its opcode behind IPv4 and UDP; of TCP, those with PSH end what was sent at once.
# A FIN that comes twice is data for the kernel and not for the dissector, so those are left alone.
frames() {
    local roce="match ip protocol 17 0xff match u16 4791 0xffff at 22"
    case $1 in
    send) echo "$roce match u8 4 0xff at 28" ;;
    write) echo "$roce match u8 7 0xff at 28" ;;
    response) echo "$roce match u8 14 0xff at 28" ;;
    any) echo "match u32 0 0" ;;
    end) echo "match ip protocol 6 0xff match u8 8 8 at 33" ;;
    data) echo "match ip protocol 6 0xff match u8 8 9 at 33" ;;
    full) echo "match ip protocol 6 0xff match u16 1500 0xffff at 2" ;;
    esac
}

# loses DIRECTION NUMBER FRAMES: every so many of these frames that come in or go out are lost, from now on; or so many percent of
# those that go out are sent twice. To its sender, a frame that is lost on its way out looks as if it had been sent.
loses() {
    local lose match
    read -ra match <<<"$(frames "$3")"
    case $1 in
    ingress) lose='drop' ;;
    egress) lose='trap' ;;
    twice)
        modprobe -a sch_netem sch_prio cls_u32
        # No other frame is in the fourth band.
        tc qdisc replace dev eth0 root handle 1: prio bands 4
        tc qdisc add dev eth0 parent 1:4 netem duplicate "$2%"
        tc filter add dev eth0 parent 1: protocol ip u32 "${match[@]}" flowid 1:4
        return
        ;;
    esac
    modprobe -a sch_ingress cls_u32 act_gact
    tc qdisc replace dev eth0 clsact
    tc filter add dev eth0 "$1" protocol ip u32 "${match[@]}" action ok random determ "$lose" "$2"
}

# loses_no_more DIRECTION NUMBER: says how many were lost.
loses_no_more() {
    if [ "$1" = twice ]; then
        tc qdisc del dev eth0 root
        echo 0
        return
    fi
    local matched
    matched=$(tc -s filter show dev eth0 "$1" | sed -n 's/.*Sent [0-9]* bytes \([0-9]*\) pkt.*/\1/p' | head -1)
    tc qdisc del dev eth0 clsact
    echo $((matched / $2))
}

# Prints the kernel's counters: for RoCE retries, negative acknowledgements and requests that came twice; for TCP
# retransmissions, the two kinds of time-outs, and data that came twice.
counts() {
    local name
    if [ "$adapter" = siw ]; then
        nstat -asz TcpRetransSegs TcpExtTCPTimeouts TcpExtTCPLossProbes TcpExtTCPDSACKOldSent | awk '!/^#/ { printf "%s=%s ", $1, $2 }'
        return
    fi
    for name in completer_retry_err rcvd_seq_err duplicate_request; do
        printf '%s=%s ' "$name" "$(cat "/sys/class/infiniband/${adapter}0/ports/1/hw_counters/$name")"
    done
}

both() {
    printf 'server %s %s\n' "$1" "$(on_server counts)"
    printf 'client %s %s\n' "$1" "$(counts)"
}

server() {
    server_ours
}

client() {
    local connection=0 end direction number what carry size calls lost
    while read -r end direction number what carry size calls <&3; do
        connection=$((connection + 1))
        step "$end $direction, $number, '$what', $carry"
        both "$connection before" >>/host/counts.txt
        case $end in
        server) on_server "loses $direction $number $what" ;;
        client) loses "$direction" "$number" "$what" ;;
        esac
        limit 100 rpcrdma-ping -c "$calls" -i 0 -q --program echo --carry "$carry" --size "$size" "$server:$port"
        case $end in
        server) lost=$(on_server "loses_no_more $direction $number") ;;
        client) lost=$(loses_no_more "$direction" "$number") ;;
        esac
        both "$connection after" >>/host/counts.txt
        echo "lost $connection after lost=$lost" >>/host/counts.txt
    done 3< <(rows)
}

# counted END CONNECTION NAME: by how much a counter of an end has grown during a connection.
counted() {
    awk -v end="$1" -v connection="$2" -v name="$3" '
        $1 == end && $2 == connection {
            for (field = 4; field <= NF; field++) {
                split($field, pair, "=")
                if (pair[1] == name) count[$3] = pair[2]
            }
        }
        END { print count["after"] - count["before"] }' share/counts.txt
}

# found END CONNECTION FIELD: the same in what was captured.
found() {
    local side=passive
    [ "$1" = server ] || side=active
    jq --argjson connection "$2" "select(.type == \"stats\") | .connections[] | select(.connection == \$connection) | .$side | $3" stats.json
}

# same WHAT FOUND COUNTED
same() {
    printf '%-60s %4s %4s\n' "$1" "$2" "$3"
    [ "$2" = "$3" ] || fault "$1: $2 in the capture, and $3 were counted"
}

# Compares the capture with the frames that were dropped and with the kernels' counters.
verdict() {
    needs jq jq
    local connection=0 end direction number what carry from other lost each copies requests
    while read -r end direction number what carry _; do
        connection=$((connection + 1))
        other=client
        [ "$end" = server ] || other=server
        # The end that sent what was lost.
        from=$end
        [ "$direction" != ingress ] || { from=$other other=$end; }
        lost=$(counted lost "$connection" lost)
        [ "$direction" = twice ] || [ "$lost" -gt 0 ] || fault "$connection: nothing was lost"
        if [ "$adapter" = siw ]; then
            for each in server client; do
                same "$connection: $each retransmitted" "$(found "$each" "$connection" '.retransmitted + .replaced')" \
                    "$(counted "$each" "$connection" TcpRetransSegs)"
                same "$connection: $each timed out" "$(found "$each" "$connection" .timeouts)" \
                    $(($(counted "$each" "$connection" TcpExtTCPTimeouts) + $(counted "$each" "$connection" TcpExtTCPLossProbes)))
            done
        else
            same "$connection: $other refused" "$(found "$other" "$connection" .sequence_errors)" \
                "$(counted "$from" "$connection" rcvd_seq_err)"
        fi
        case $adapter-$what in
        rxe-any)
            # Acknowledgements come twice too.
            copies=$(found "$from" "$connection" .duplicates)
            requests=$(counted "$other" "$connection" duplicate_request)
            printf '%-60s %4s %4s\n' "$connection: came twice from $from" "$copies" "$requests"
            [ "$copies" -ge "$requests" ] || fault "$connection: $copies frames came twice, and $requests of them were requests"
            ;;
        siw-data)
            same "$connection: came twice from $from" "$(found "$from" "$connection" .duplicates)" \
                "$(counted "$other" "$connection" TcpExtTCPDSACKOldSent)"
            ;;
        rxe-send)
            same "$connection: $from retransmitted" "$(found "$from" "$connection" .retransmitted)" "$lost"
            same "$connection: $from timed out" "$(found "$from" "$connection" .timeouts)" \
                "$(counted "$from" "$connection" completer_retry_err)"
            ;;
        rxe-response)
            same "$connection: $other asked again" "$(found "$other" "$connection" .retransmitted)" \
                "$(counted "$from" "$connection" duplicate_request)"
            ;;
        *-full)
            same "$connection: holes that $other reported" "$(found "$other" "$connection" .sequence_errors)" "$lost"
            ;;
        esac
        [ "$direction" != egress ] ||
            same "$connection: lost before the capture" "$(found "$from" "$connection" .replaced)" "$lost"
    done < <(rows)
}
