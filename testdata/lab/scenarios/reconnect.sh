# Our client connects again under load: the server is killed, frames disappear, the link is down, the adapter is removed, 2 % loss.
programs="reconnect" seconds=900 incomplete=1

server() {
    serve_again
}

# serve_again: starts our server, which continues the same list of what it has carried out.
serve_again() {
    reconnect serve "0.0.0.0:$port" /host/executed >/host/serve.txt 2>&1 &
    wait_for 20 grep -q listening /host/serve.txt
}

executed() {
    wc -l </host/executed
}

has_gone_on() {
    [ "$(executed)" -gt $(($1 + 200)) ]
}

# goes_on: calls are carried out again.
goes_on() {
    wait_for 120 has_gone_on "$(executed)"
}

# lose PERCENT: both machines lose this part of the frames that they send.
lose() {
    on_server "loss $1"
    loss "$1"
}

lose_none() {
    tc qdisc delete dev eth0 root
    on_server "tc qdisc delete dev eth0 root"
}

client() {
    limit 800 reconnect call "$server:$port" /host/executed /tmp/stop >/tmp/judged.txt 2>&1 &
    local calls=$!
    wait_for 30 test -s /host/executed
    goes_on

    step "the server is killed and restarted"
    on_server "pkill -9 reconnect; sleep 3; serve_again"
    goes_on

    step "all frames disappear for 20 s"
    lose 100
    sleep 20
    lose_none
    goes_on

    step "the adapter is removed and added"
    limit 60 rdma link delete "${adapter}0"
    sleep 2
    rdma link add "${adapter}0" type "$adapter" netdev eth0
    goes_on

    # Soft RoCE of Linux 6.1 sets up no connection any more after that (see Lessons), so the adapter is made anew.
    step "the link is down for 20 s, and the adapter is removed while there is no connection"
    ip link set eth0 down
    sleep 20
    ip link set eth0 up
    # Frames that are still queued have left by then.
    sleep 5
    limit 60 rdma link delete "${adapter}0"
    rdma link add "${adapter}0" type "$adapter" netdev eth0
    goes_on

    step "2 % of the frames are lost"
    lose 2
    sleep 10
    goes_on
    lose_none

    touch /tmp/stop
    wait "$calls" || { cat /tmp/judged.txt; fail "the calls are wrong"; }
    cat /tmp/judged.txt
    grep -q ", [1-9][0-9]* sent and not answered" /tmp/judged.txt || fail "nothing was lost, so this shows nothing"
}

verdict() {
    [ "$(grep -c '"type":"transaction"' transactions.json)" -ge 1000 ] || fault "too few calls"
}
