# A READ under Kerberos with integrity offers a Write chunk, which nfsd may not use.
programs="raw-requester gss-words" peer="192.0.2.1"

# kerberos: what both machines have to know of the realm.
kerberos() {
    echo "$server server" >>/etc/hosts
    cat >/etc/krb5.conf <<END
[libdefaults]
    default_realm = LAB.EXAMPLE
    dns_canonicalize_hostname = false
    dns_lookup_kdc = false
    rdns = false
[realms]
    LAB.EXAMPLE = {
        kdc = $server
    }
END
}

server() {
    kerberos
    modprobe -a rpcsec_gss_krb5 auth_rpcgss
    mkdir -p /var/lib/krb5kdc
    kdb5_util create -s -P lab
    kadmin.local addprinc -randkey nfs/server
    kadmin.local addprinc -randkey user
    kadmin.local ktadd nfs/server
    kadmin.local ktadd -k /host/user.keytab user
    krb5kdc
    server_nfsd
    echo '/srv/export *(ro,fsid=0,insecure,no_subtree_check,sec=krb5i)' >/etc/exports
    exportfs -ra
    octets 1000 >/srv/export/file
    rpc.svcgssd
}

client() {
    export KRB5_CLIENT_KTNAME=/host/user.keytab
    kerberos
    step "the context"
    raw-requester "$server:$port" >/tmp/context <<END
send 00000001 00000001 00000020 00000000 00000000 00000000 00000000
     $(gss-words init nfs@server /tmp/gss 00000001)
receive
END
    cat /tmp/context
    local words handle
    read -ra words < <(sed -n 's/^came //p' /tmp/context)
    # Word 11 is the length of the verifier. Behind it come the status, and the length of the handle, which is one word.
    handle=$((12 + 16#${words[11]} / 4 + 2))
    step "READ of 60 octets, with a Write chunk"
    raw-requester "$server:$port" <<END
writable data 64
send 00000002 00000001 00000020 00000000
     00000000
     00000001 00000001 @data 00000000
     00000000
     $(gss-words call /tmp/gss "${words[handle]}" 00000002 "$(tr -d ' \n' <<OPERATIONS
     00000000 00000000 00000003
     00000018
     0000000f 00000004 66696c65
     00000019 00000000 000000000000000000000000 0000000000000000 0000003c
OPERATIONS
)")
receive
END
}

verdict() {
    grep -q '"rule":"gss-reduced"' findings.json || fault "nfsd answers otherwise than Linux 6.1"
}
