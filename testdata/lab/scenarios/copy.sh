# Our nfs4-cp writes files of ten sizes to Linux nfsd and reads them back, by a long path too, and lists 400 files.
programs="nfs4-cp" peer="192.0.2.1"

# 16 names of 240 octets: with the rest of a COMPOUND more than a Send of 4096 holds, and less than a path of Linux may have.
long_path() {
    local name path=long
    name=$(printf '%0240d' 7)
    for _ in {1..16}; do path+=/$name; done
    echo "$path"
}

server() {
    local number
    server_nfsd
    mkdir -p /srv/export/dir "/srv/export/$(long_path)"
    for number in {1..400}; do head -c "$number" /dev/zero >"/srv/export/dir/file_with_a_rather_long_name_number_$number"; done
}

client() {
    local size
    for size in 0 1 3 4 1023 1024 4096 65537 1048576 3000001; do
        copy "$size"
    done
    step "a path of more than 4096 octets of names"
    copy 65537 "$(long_path)/file-by-a-long-path"
    step "a directory of 400 files"
    limit 60 nfs4-cp --list "nfs://$server/dir" >/host/list.txt
    for size in {1..400}; do printf '%12d file_with_a_rather_long_name_number_%d\n' "$size" "$size"; done | sort >/tmp/want
    sort /host/list.txt | cmp - /tmp/want || fail "listed wrong"
    head -3 /host/list.txt
    step "what cannot be"
    refuses 60 nfs4-cp "nfs://$server/missing" /tmp/missing
    [ ! -e /tmp/missing ] || fail "made a file for what is not there"
    refuses 60 nfs4-cp /etc/hosts "nfs://$server/dir"
    refuses 60 nfs4-cp "nfs://$server/dir" /tmp/missing
}

verdict() {
    grep -q '"rebuilt":false' transactions.json && fault "not every RPC was rebuilt"
    grep -q 'WRITE"' transactions.json || fault "no WRITE was captured"
    grep -q 'READ"' transactions.json || fault "no READ was captured"
    # Both COMPOUNDs with the long path, and two pages at least of the directory.
    [ "$(grep -c '"rdma_proc":"RDMA_NOMSG".*"position":0,' messages.json)" -ge 2 ] || fault "no Position Zero chunk"
    [ "$(grep -c '"rdma_proc":"RDMA_NOMSG".*"direction":"reply".*READDIR' messages.json)" -ge 2 ] || fault "no Reply chunk"
}
