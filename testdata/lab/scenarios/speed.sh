# Latency, throughput and processor time of our programs against perftest, the Linux client, a mount without our gateway, and a server without idle connections.
programs="many rpcrdma-ping rpcrdma-serve nfs4-cp gateway" profile=dist peer="192.0.2.1 192.0.2.2" fio=1 seconds=1500

# A NULL call of NFSv4 is a Send of 28 octets of header and 40 of RPC.
readonly null_call=68 large=67108864 echo=262144 busy=10

server() {
    server_nfsd
    octets "$large" >/srv/export/large
    rpcrdma-serve --spin 1000000 0.0.0.0:20050 >/host/serve.txt 2>&1 &
    rpcrdma-serve 0.0.0.0:20051 >/host/serve-asleep.txt 2>&1 &
    rpcrdma-serve --connections 1000 0.0.0.0:20053 >/host/serve-many.txt 2>&1 &
    echo $! >/host/serve-many.process
    gateway from-rdma "$server:20052" 127.0.0.1:2049 >/host/gateway.txt 2>&1 &
}

# perftest PROGRAM COUNT OCTETS OPTIONS...: the median in microseconds, of one way or, with ib_read_lat, of a round trip.
perftest() {
    local program=$1 count=$2 octets=$3
    shift 3
    on_server "($program -d rxe0 -x 1 -F -n $count -s $octets $* >/dev/null 2>&1 &)"
    sleep 1
    limit 100 "$program" -d rxe0 -x 1 -F -n "$count" -s "$octets" "$@" "$server" |
        awk -v size="$octets" '$1 == size && NF >= 6 { printf "%.0f\n", $5 }'
}

# The median round trip in microseconds.
reference_latency() {
    echo $((2 * $(perftest ib_send_lat 2000 "$null_call")))
}

# echo_latency WAY: the median that rpcrdma-ping gives for an echo of 256 KiB that goes this way, in microseconds.
echo_latency() {
    limit 100 rpcrdma-ping -q -c 100 -i 0 --spin 1000000 --program echo --carry "$1" --size "$echo" "$server:20050" | median
}

# fio_through PORT MODE BLOCK FIELD: reads of a mount of this port, as fio's terse output has it: 7 for KiB/s, 8 for operations in a
# second.
fio_through() {
    limit 60 mount -t nfs -o "rdma,port=$1,vers=4.1,nolock" "$server:/" /mnt
    LD_LIBRARY_PATH=/host/fio/lib/x86_64-linux-gnu:/host/fio/usr/lib/x86_64-linux-gnu:/host/fio/usr/lib/x86_64-linux-gnu/ceph \
        limit 100 /host/fio/usr/bin/fio --name=reads --filename=/mnt/large --readonly --rw="$2" --bs="$3" --direct=1 \
        --ioengine=psync --size=64M --runtime=10 --time_based --minimal | cut -d ';' -f "$4"
    umount /mnt
}

# processor COMMAND...: processor time of a command in ms.
processor() {
    local TIMEFORMAT='%U %S'
    { time limit 100 "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print ($1 + $2) * 1000 }'
}

# each FEW MANY: processor time of one call in microseconds, of what 100 and 3100 calls took.
each() {
    awk -v few="$1" -v many="$2" 'BEGIN { printf "%.0f\n", (many - few) / 3 }'
}

reference_processor() {
    local count
    for count in 100 3100; do
        on_server "(ib_send_lat -d rxe0 -x 1 -F -e -n $count -s $null_call >/dev/null 2>&1 &)"
        sleep 1
        processor ib_send_lat -d rxe0 -x 1 -F -e -n "$count" -s "$null_call" "$server"
    done
}

our_processor() {
    local count
    for count in 100 3100; do
        processor rpcrdma-ping -q -c "$count" -i 0 --spin 0 "$server:20051"
    done
}

# among CONNECTIONS: ten of as many connections make NULL calls for 10 s. Median of a call, and processor time of the server for it, both in
# microseconds, are added to files.
among() {
    local memory calls median each
    calls_of_many "$(cat /host/serve-many.process)" 10 "$1" "$busy" 20053
    echo "$median" >>"latency-among-$1"
    echo "$each" >>"processor-among-$1"
}

# The median that rpcrdma-ping gives in milliseconds, in microseconds.
median() {
    awk '{ for (word = 1; word < NF; word++) if ($word ~ /^median/) median = $(word + 1) } END { print median * 1000 }'
}

# It looks for what comes without sleeping, as ib_send_lat does.
our_latency() {
    limit 60 rpcrdma-ping -q -c 2000 -i 0 --spin 1000000 "$1" | median
}

# MiB/s.
reference_throughput() {
    limit 120 dd if=/mnt/large of=/dev/null bs=1M iflag=direct 2>&1 | awk -v octets="$large" '
        match($0, /[0-9.]+ s,/) { printf "%.1f\n", octets / 1048576 / substr($0, RSTART) }'
}

our_throughput() {
    local from=${EPOCHREALTIME/./}
    limit 120 nfs4-cp "nfs://$server/large" /dev/null >&2
    awk -v octets="$large" -v took=$((${EPOCHREALTIME/./} - from)) 'BEGIN { printf "%.1f\n", octets / 1048576 / took * 1e6 }'
}

# ratio WHAT OURS REFERENCE most|least BOUND
ratio() {
    awk -v what="$1" -v ours="$2" -v reference="$3" -v sense="$4" -v bound="$5" 'BEGIN {
        if (!(ours > 0 && reference > 0)) { print "FAILED: " what ": not measured: ours " ours ", reference " reference; exit 1 }
        ratio = ours / reference
        fits = sense == "most" ? ratio <= bound : ratio >= bound
        printf "%s%s: ours %s, reference %s, ratio %.2f; at %s %s is wanted\n",
            fits ? "" : "FAILED: ", what, ours, reference, ratio, sense, bound
        exit !fits }'
}

# The best of what a file has: other work on the host can only make it worse.
smallest() {
    sort -n "$1" | head -1
}

largest() {
    sort -n "$1" | tail -1
}

client() {
    local status=0 turn
    cd /tmp || return
    # What takes less than a millisecond is disturbed most by other work on the host.
    step "latency of a NULL call: twenty times the median of 2000, in microseconds"
    for turn in {1..20}; do
        reference_latency >>ib_send_lat
        our_latency "$server:20050" >>ours
        our_latency "$server:$port" >>nfsd
    done
    tail -n +1 ib_send_lat ours nfsd
    ratio "latency, our server" "$(smallest ours)" "$(smallest ib_send_lat)" most 1.3 || status=1

    step "echo of 256 KiB: three times the median of 100, in microseconds"
    for turn in 1 2 3; do
        perftest ib_write_lat 100 "$echo" >>reference-write
        echo_latency write >>echo-write
        perftest ib_read_lat 100 "$echo" >>reference-read
        echo_latency read >>echo-read
    done
    tail -n +1 reference-write echo-write reference-read echo-read
    ratio "echo by RDMA Write" "$(smallest echo-write)" "$(smallest reference-write)" most 2 || status=1
    ratio "echo by RDMA Read" "$(smallest echo-read)" "$(smallest reference-read)" most 4 || status=1

    step "processor time of a NULL call at the client, which sleeps: three times, in microseconds"
    for turn in 1 2 3; do
        # shellcheck disable=SC2046 # two numbers
        each $(reference_processor) >>processor-ib_send_lat
        # shellcheck disable=SC2046
        each $(our_processor) >>processor-ours
    done
    tail -n +1 processor-ib_send_lat processor-ours
    ratio "processor time" "$(smallest processor-ours)" "$(smallest processor-ib_send_lat)" most 5 || status=1

    step "throughput of READs of 1 MiB: three times 64 MiB, in MiB/s"
    linux_mount 4.1
    for turn in 1 2 3; do
        reference_throughput >>linux
        our_throughput >>nfs4-cp
    done
    umount /mnt
    tail -n +1 linux nfs4-cp
    ratio "throughput" "$(largest nfs4-cp)" "$(largest linux)" least 0.8 || status=1

    step "fio on a mount through our gateway, and without it: three times 10 s, in KiB/s and in operations in a second"
    for turn in 1 2 3; do
        fio_through "$port" read 256k 7 >>fio-read
        fio_through 20052 read 256k 7 >>fio-read-gateway
        fio_through "$port" randread 4k 8 >>fio-randread
        fio_through 20052 randread 4k 8 >>fio-randread-gateway
    done
    tail -n +1 fio-*
    ratio "reads of 256 KiB" "$(largest fio-read-gateway)" "$(largest fio-read)" least 0.3 || status=1
    ratio "random reads of 4 KiB" "$(largest fio-randread-gateway)" "$(largest fio-randread)" least 0.3 || status=1

    step "1,000 connections, of which ten make NULL calls, and these ten alone: three times 10 s, in microseconds"
    for turn in 1 2 3; do
        among "$busy"
        among 1000
    done
    tail -n +1 ./*-among-*
    ratio "latency among 1,000 connections" "$(smallest latency-among-1000)" "$(smallest "latency-among-$busy")" most 1.3 || status=1
    ratio "processor time among 1,000 connections" "$(smallest processor-among-1000)" "$(smallest "processor-among-$busy")" most 1.3 ||
        status=1
    return $status
}
