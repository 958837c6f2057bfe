# Latency of our NULL call against ib_send_lat, throughput of our READ against the Linux client's. Says both, and the ratios.
programs="rpcrdma-ping rpcrdma-serve nfs4-cp" peer="192.0.2.1"

# A NULL call of NFSv4 is a Send of 28 octets of header and 40 of RPC.
readonly null_call=68 large=67108864

server() {
    server_nfsd
    octets "$large" >/srv/export/large
    rpcrdma-serve 0.0.0.0:20050 >/host/serve.txt 2>&1 &
}

# Round trip in microseconds, median: ib_send_lat gives half of it.
reference_latency() {
    on_server "(ib_send_lat -d rxe0 -x 1 -F -n 2000 -s $null_call >/dev/null 2>&1 &)"
    sleep 1
    limit 60 ib_send_lat -d rxe0 -x 1 -F -n 2000 -s "$null_call" "$server" |
        awk -v size="$null_call" '$1 == size && NF >= 6 { printf "%.0f\n", 2 * $5 }'
}

# The median that rpcrdma-ping gives, in microseconds.
our_latency() {
    limit 60 rpcrdma-ping -c 2000 -i 0 "$@" | tee /host/ping.txt | awk '
        { for (word = 1; word < NF; word++) if ($word ~ /^median/) median = $(word + 1) } END { print median }'
}

# MiB/s of the fastest of three.
reference_throughput() {
    local turn
    linux_mount 4.1
    for turn in 1 2 3; do
        limit 120 dd if=/mnt/large of=/dev/null bs=1M iflag=direct 2>&1
    done | rate
    umount /mnt
}

our_throughput() {
    local turn from
    for turn in 1 2 3; do
        from=$(microseconds)
        limit 120 nfs4-cp "nfs://$server/large" /dev/null >&2
        echo "copied, $(awk -v from="$from" -v to="$(microseconds)" 'BEGIN { print (to - from) / 1e6 }') s"
    done | rate
}

microseconds() {
    echo "${EPOCHREALTIME/./}"
}

rate() {
    awk -v octets="$large" 'match($0, /[0-9.]+ s/) { seconds = substr($0, RSTART) + 0; if (!least || seconds < least) least = seconds }
        END { printf "%.1f\n", octets / 1048576 / least }'
}

# ratio WHAT OURS REFERENCE SENSE BOUND
ratio() {
    awk -v what="$1" -v ours="$2" -v reference="$3" -v sense="$4" -v bound="$5" 'BEGIN {
        if (!(ours > 0 && reference > 0)) { print "FAILED: " what ": not measured: " ours ", " reference; exit 1 }
        ratio = ours / reference
        fits = sense == "most" ? ratio <= bound : ratio >= bound
        printf "%s%s: ours %s, reference %s, ratio %.2f; at %s %s is wanted\n", fits ? "" : "FAILED: ", what, ours, reference, ratio, sense, bound
        exit !fits }'
}

client() {
    local status=0
    step "latency of a NULL call, microseconds, median of 2000"
    ratio "latency, our server" "$(our_latency "$server:20050")" "$(reference_latency)" most 1.3 || status=1
    ratio "latency, Linux nfsd" "$(our_latency "$server:$port")" "$(reference_latency)" most 1.3 || true
    step "throughput of READs of 1 MiB, MiB/s, best of three times 64 MiB"
    ratio "throughput" "$(our_throughput)" "$(reference_throughput)" least 0.8 || status=1
    return $status
}
