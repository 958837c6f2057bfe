# The tests of rpcrdma-verbs that need two adapters: one end in each machine.
tests="provider"

server() {
    true
}

# both TEST STATUS: both ends run it; how it has to end at the end that listens.
both() {
    step "$1"
    rm -f /host/listens /host/listens.txt
    on_server "(RPCRDMA_LISTEN=$server:$port provider --ignored --nocapture $1 >/host/listens.txt 2>&1 && echo 0 >/host/listens ||
        echo \$? >/host/listens) &"
    # One of the tests does not listen: it is over then.
    wait_for 60 grep -qE "listening|test result" /host/listens.txt
    RPCRDMA_CONNECT=$server:$port limit 100 provider --ignored --nocapture "$1" || fail "$1: the connecting end"
    wait_for 60 test -s /host/listens
    [ "$(cat /host/listens)" -eq "$2" ] || { cat /host/listens.txt; fail "$1: the listening end: $(cat /host/listens)"; }
}

client() {
    both two_adapters 0
    both a_runtime_waits_for_the_descriptor 0
    both memory_that_the_adapter_may_write_is_not_shown 0
    both waiting_destroys_a_queue_pair_and_posting_does_not 0
    # The listening end kills itself.
    both the_end_of_the_other_process_ends_the_connection 137
}

verdict() {
    grep -Eq 'InfiniBand packets|segments of iWARP' stats.txt || fault "nothing was captured"
}
