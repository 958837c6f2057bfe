# A Write chunk and a Reply chunk in one call: nfsd returns octets that it has not written.
programs="raw-requester" peer="192.0.2.1"

server() {
    server_nfsd
    octets 1000 >/srv/export/file
    ln -s /a/path/of/27/octets/in/all /srv/export/link
}

client() {
    raw-requester "$server:$port" <<END
writable data   64
writable reply 512

# READ of 60 octets, into the Write chunk; the other results into the Reply chunk.
send 00000001 00000001 00000020 00000000
     00000000
     00000001 00000001 @data 00000000
     00000001 00000001 @reply
     $(compound 00000001 00000003)
     00000018                              # PUTROOTFH
     0000000f 00000004 'file'              # LOOKUP
     00000019 00000000 000000000000000000000000 0000000000000000 0000003c
receive

# The same without a Reply chunk.
send 00000002 00000001 00000020 00000000
     00000000
     00000001 00000001 @data 00000000
     00000000
     $(compound 00000002 00000003)
     00000018
     0000000f 00000004 'file'
     00000019 00000000 000000000000000000000000 0000000000000000 0000003c
receive

# READLINK into a Write chunk.
send 00000003 00000001 00000020 00000000
     00000000
     00000001 00000001 @data 00000000
     00000000
     $(compound 00000003 00000003)
     00000018
     0000000f 00000004 'link'
     0000001b                              # READLINK
receive
END
}

# nfsd answers the second call alone as it should.
verdict() {
    [ "$(grep -c '"rebuilt":false' transactions.json)" -eq 2 ] || fault "nfsd answers otherwise than Linux 6.1"
}
