# Bad Sends beside a good call of the same XID, and a requester that does not wait for the answer to a bad one.
programs="raw-requester" peer="192.0.2.1 192.0.2.2"

server() {
    server_nfsd
}

# null XID: the Send of a NULL call.
null() {
    echo "send $1 00000001 00000020 00000000 00000000 00000000 00000000 $(nfs_call "$1" 00000004 00000000)"
}

client() {
    step "a bad call, and leaves at once"
    raw-requester "$server:$port" <<END
send 00000001 00000001 00000020 00000001 00000000 00000000 00000000      # RDMA_NOMSG without chunks
END
    step "RDMA_DONE, before the call and behind it"
    raw-requester "$server:$port" <<END
send 00000002 00000001 00000020 00000003
$(null 00000002)
receive
$(null 00000003)
send 00000003 00000001 00000020 00000003
receive
END
    step "RDMA_ERROR"
    raw-requester "$server:$port" <<END
$(null 00000004)
send 00000004 00000001 00000020 00000004 00000002
receive
END
    step "a stub of 24 octets"
    raw-requester "$server:$port" <<END
$(null 00000005)
send 00000005 00000001 00000020 00000000 00000000 00000000
receive
receive                                                                  # ERR_CHUNK, which nobody owes
END
    step "a copy with another rdma_proc"
    raw-requester "$server:$port" <<END
$(null 00000006)
receive
$(null 00000007)
send 00000007 00000001 00000020 00000007 00000000 00000000 00000000 $(nfs_call 00000007 00000004 00000000)
receive
receive
END
    step "a call that is retransmitted"
    raw-requester "$server:$port" <<END
$(null 00000008)
$(null 00000008)
receive
wait 0.5
END
    step "RDMA_DONE as often as there are credits, and a call"
    raw-requester "$server:$port" <<END
$(null 00000009)
receive
$(for ((count = 0; count < 64; count++)); do echo "send 00000009 00000001 00000020 00000003"; done)
$(null 0000000a)
receive
wait 2
END
}

verdict() {
    [ "$(grep -c '"status":{"name":"SUCCESS"' transactions.json)" -ge 9 ] || fault "not every good call was answered"
}
