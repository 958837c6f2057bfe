#!/usr/bin/env bash
# Instructions of a call in each version, both ends and the loopback included: versions.sh; needs valgrind.
set -euo pipefail
cd "$(dirname "$0")/../.."

program=$(cargo bench -q -p rpcrdma-verbs --bench versions --no-run --message-format json |
    sed -n 's/.*"executable":"\([^"]*versions[^"]*\)".*/\1/p' | tail -1)

# instructions CALL VERSION CALLS
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" "$3" 2>&1 |
        sed -n 's/.*Collected : //p'
}

printf '| call | %s |\n' '1 | 2a | 2b | 2a, continued | 2b, continued'
printf '|---|---|---|---|---|---|\n'
for call in NULL GETATTR LOOKUP OPEN READDIR 'READ, 4 KiB' 'WRITE, 4 KiB' 'WRITE, 32 KiB, krb5i'; do
    printf '| %s |' "$call"
    for version in 1 2a 2b '2a, continued' '2b, continued'; do
        least=''
        # Threads wait for each other now and then: the least of three is what the call itself takes.
        for _ in 1 2 3; do
            few=$(instructions "$call" "$version" 100)
            more=$(instructions "$call" "$version" 600)
            each=$(((more - few) / 500))
            [ -n "$least" ] && [ "$least" -le "$each" ] || least=$each
        done
        printf ' %d |' "$least"
    done
    printf '\n'
done
