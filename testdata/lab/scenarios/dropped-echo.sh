# Our give-up calls our rpcrdma-serve in every way there is, eight calls at once, and drops a tenth before they are answered.
programs="give-up rpcrdma-serve"

server() {
    server_ours
}

client() {
    delay 2
    limit 200 give-up "$server:$port" 2000
}

verdict() {
    [ "$(grep -c '"type":"transaction"' transactions.json)" -gt 1800 ] || fault "calls are missing"
    grep -q '"rebuilt":false' transactions.json && fault "not every RPC was rebuilt"
    local form
    for form in short chunked long; do
        grep -q "\"reply\":{\"form\":\"$form\"" transactions.json || fault "no $form reply was captured"
    done
}
