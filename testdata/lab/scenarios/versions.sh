# Latency of the same calls in version 1 and in both formats of version 2, measured in turns.
programs="rpcrdma-ping rpcrdma-serve" profile=dist seconds=600

# Ways of carrying the data of the echo program, and its octets; NULL has none.
readonly calls=(
    "null 0" "inline 200" "inline 3000" "reply 32768" "continued 32768"
    "write 4096" "write 65536" "write 1048576" "read 4096" "read 65536" "read 1048576"
)

server() {
    rpcrdma-serve --spin 1000000 "0.0.0.0:$port" >/host/serve.txt 2>&1 &
}

# latency VERSION CARRY SIZE: the median of 100 calls, or of 10 if they are large, in microseconds.
latency() {
    local data=() count=100
    [ "$3" -le 65536 ] || count=10
    [ "$2" = null ] || data=(--program echo --carry "$2" --size "$3")
    limit 120 rpcrdma-ping -q -c "$count" -i 0 --spin 1000000 --rpcrdma-version "$1" "${data[@]}" "$server:$port" | awk '
        { for (word = 1; word < NF; word++) if ($word ~ /^median/) median = $(word + 1) } END { print median * 1000 }'
}

client() {
    local turn call carry size version
    cd /tmp || return
    for turn in 1 2 3; do
        step "turn $turn"
        for call in "${calls[@]}"; do
            read -r carry size <<<"$call"
            for version in 1 2a 2b; do
                [ "$carry$version" != continued1 ] || continue
                latency "$version" "$carry" "$size" >>"$carry-$size-$version"
            done
        done
    done
    step "the best of three medians, in microseconds"
    for call in "${calls[@]}"; do
        read -r carry size <<<"$call"
        for version in 1 2a 2b; do
            [ "$carry$version" != continued1 ] || continue
            sort -n "$carry-$size-$version" | head -1 >best
            awk -v call="$call" -v version="$version" '!($1 > 0) { exit 1 } { print call, version, $1 }' best ||
                fail "$call was not measured in version $version"
        done
    done
}
