# Latency of our NULL call against ib_send_lat, throughput of our READs against the Linux client's.
programs="rpcrdma-ping rpcrdma-serve nfs4-cp" profile=dist peer="192.0.2.1"

# A NULL call of NFSv4 is a Send of 28 octets of header and 40 of RPC.
readonly null_call=68 large=67108864

server() {
    server_nfsd
    octets "$large" >/srv/export/large
    rpcrdma-serve --spin 1000000 0.0.0.0:20050 >/host/serve.txt 2>&1 &
}

# The median round trip in microseconds; ib_send_lat gives half of it.
reference_latency() {
    on_server "(ib_send_lat -d rxe0 -x 1 -F -n 2000 -s $null_call >/dev/null 2>&1 &)"
    sleep 1
    limit 60 ib_send_lat -d rxe0 -x 1 -F -n 2000 -s "$null_call" "$server" |
        awk -v size="$null_call" '$1 == size && NF >= 6 { printf "%.0f\n", 2 * $5 }'
}

# The median that rpcrdma-ping gives in milliseconds, in microseconds. It looks for what comes without sleeping, as ib_send_lat does.
our_latency() {
    limit 60 rpcrdma-ping -q -c 2000 -i 0 --spin 1000000 "$1" | awk '
        { for (word = 1; word < NF; word++) if ($word ~ /^median/) median = $(word + 1) } END { print median * 1000 }'
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
    step "latency of a NULL call: three times the median of 2000, in microseconds"
    for turn in 1 2 3; do
        reference_latency >>ib_send_lat
        our_latency "$server:20050" >>ours
        our_latency "$server:$port" >>nfsd
    done
    tail -n +1 ib_send_lat ours nfsd
    ratio "latency, our server" "$(smallest ours)" "$(smallest ib_send_lat)" most 1.3 || status=1
    step "throughput of READs of 1 MiB: three times 64 MiB, in MiB/s"
    linux_mount 4.1
    for turn in 1 2 3; do
        reference_throughput >>linux
        our_throughput >>nfs4-cp
    done
    umount /mnt
    tail -n +1 linux nfs4-cp
    ratio "throughput" "$(largest nfs4-cp)" "$(largest linux)" least 0.8 || status=1
    return $status
}
