# A requester gives up a READ and a WRITE, and withdraws their memory: its adapter refuses what nfsd does by RDMA.
programs="raw-requester" peer="192.0.2.1 192.0.2.2"

server() {
    server_nfsd
    octets 1000 >/srv/export/file
}

client() {
    # So a call leaves when its memory is gone already.
    delay 100
    step "READ of 1000 octets"
    raw-requester "$server:$port" <<END
writable data 1000
send 00000001 00000001 00000020 00000000
     00000000
     00000001 00000001 @data 00000000
     00000000
     $(compound 00000001 00000003)
     00000018                              # PUTROOTFH
     0000000f 00000004 'file'              # LOOKUP
     00000019 00000000 000000000000000000000000 0000000000000000 000003e8
withdraw data
ended
END
    step "WRITE of 1000 octets"
    raw-requester "$server:$port" <<END
readable data 1000
send 00000002 00000001 00000020 00000000
     00000001 0000007c @data 00000000      # Position 124: the octets of the file
     00000000
     00000000
     $(compound 00000002 00000003)
     00000018
     0000000f 00000004 'file'
     00000026 00000000 000000000000000000000000 0000000000000000 00000002 000003e8
withdraw data
ended
END
    step "nfsd is there still"
    raw-requester "$server:$port" <<END
send 00000003 00000001 00000020 00000000 00000000 00000000 00000000
     $(nfs_call 00000003 00000004 00000000)
receive
END
}

verdict() {
    local rule
    for rule in rdma-write-bounds rdma-read-bounds; do
        grep -q "\"rule\":\"$rule\",\"severity\":\"hazard\"" findings.json || fault "$rule: nothing was refused"
    done
}
