# Our rpcrdma-probe judges our rpcrdma-serve, in each version. The verdicts are those over the loopback.
programs="rpcrdma-probe rpcrdma-serve" peer="192.0.2.1 192.0.2.2" seconds=500

server() {
    server_ours --nfs
}

client() {
    local version
    for version in 1 2a 2b; do
        limit 150 rpcrdma-probe --tsv --silence 700ms --rpcrdma-version "$version" --file file --link link --scratch scratch --delegate delegated \
            "$server:$port" >"/host/probe-$version.tsv" || fail "rpcrdma-probe of version $version ended with $?"
    done
}

verdict() {
    local version table
    for version in 1 2a 2b; do
        table=$lab/expected/${version#1}
        [ "$version" = 1 ] || table+=-
        diff <(tail -n +2 "${table}server-rpcrdma-serve.tsv") "share/probe-$version.tsv" ||
            fault "other verdicts than expected, version $version"
    done
}
