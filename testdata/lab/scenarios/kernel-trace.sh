# The Linux client and nfsd trace what they do, and tcpdump captures on each of them: the phases of each RPC beside the kernels' numbers.
peer="192.0.2.1 192.0.2.2" mtu=9000 instructions=0 seconds=900

# traces EVENTS...: with the time of day, which tcpdump has too.
traces() {
    local tracing=/sys/kernel/tracing event
    mount -t tracefs nodev "$tracing" 2>/dev/null || true
    echo 40000 >"$tracing/buffer_size_kb"
    echo tai >"$tracing/trace_clock"
    for event; do
        echo 1 >"$tracing/events/$event/enable"
    done
}

# captures: each packet with the time at which the kernel of this machine had it. Soft RoCE works in ksoftirqd, so that goes first.
captures() {
    renice -n -20 -p "$(pgrep ksoftirqd)" >/dev/null
    nice -n 19 tcpdump -Z root -i eth0 -s 256 -B 65536 --time-stamp-precision=nano -w /tmp/here.pcap udp port 4791 2>/tmp/here.txt &
    wait_for 20 grep -q listening /tmp/here.txt
}

# leaves NAME: the capture and the trace of this machine, on the host.
leaves() {
    sleep 1
    pkill -INT tcpdump
    wait_for 20 bash -c '! pgrep tcpdump'
    cat /tmp/here.txt
    cp /tmp/here.pcap "/host/$1.pcap"
    cp /sys/kernel/tracing/trace "/host/$1.trace"
}

# refuses_some NUMBER: every so many of the RoCE frames that come in are lost, after they were captured.
refuses_some() {
    modprobe -a sch_ingress cls_u32 act_gact
    tc qdisc replace dev eth0 clsact
    tc filter add dev eth0 ingress protocol ip u32 match ip protocol 17 0xff match u16 4791 0xffff at 22 action ok random determ drop "$1"
}

refuses_none() {
    tc qdisc del dev eth0 clsact
}

server() {
    server_nfsd
    mkdir /srv/export/dir
    local file
    for file in {1..40}; do
        echo "$file" >"/srv/export/dir/$file"
    done
    head -c 1048576 /dev/zero >/srv/export/down.bin
    traces rpcrdma/svcrdma_{wc_recv,decode_rqst,post_read_chunk,wc_read,post_send} sunrpc/svc_{stats_latency,xdr_sendto} \
        rdma_core/cq_schedule
    captures
}

# one_by_one, all_at_once: data is written and read, one call at a time, and several.
one_by_one() {
    dd if=/dev/zero of="/mnt/$1" bs=32k count="$2" oflag=direct status=none
    dd if=/mnt/down.bin of=/dev/null bs=32k count="$2" iflag=direct status=none
}

all_at_once() {
    local writer writers=()
    for writer in 1 2 3 4; do
        one_by_one "$1-$writer" "$2" &
        writers+=($!)
    done
    wait "${writers[@]}"
}

client() {
    modprobe -a rpcrdma nfsv4
    traces sunrpc/rpc_stats_latency
    captures
    limit 60 mount -t nfs -o "rdma,port=$port,vers=4.1,rsize=32768,wsize=32768" "$server:/" /mnt
    step "without loss"
    cat /mnt/dir/* >/tmp/all
    one_by_one alone 24
    all_at_once together 12
    date +%s.%N >/host/lossy
    step "3 % of the client's frames are lost before the captures"
    loss 3
    one_by_one before-1 8
    all_at_once before-2 4
    loss 0
    step "one of 40 frames is lost as it arrives at the server"
    on_server "refuses_some 40"
    one_by_one behind-1 8
    all_at_once behind-2 4
    on_server refuses_none
    step "one of 40 frames is lost as it arrives at the client"
    refuses_some 40
    one_by_one behind-3 8
    all_at_once behind-4 4
    refuses_none
    umount /mnt
    leaves client
    on_server "leaves server"
}

# kernel_times: of each RPC its XID, procedure, whether frames were lost then, and microseconds by the kernels' traces: `rtt` of the client's
# rpc_stats_latency; from the completion of the Receive (cq_schedule) to the post of the reply (svcrdma_post_send); `latency-us` of
# svcrdma_wc_read, which is for the call that the same thread had decoded before; `execute-us` of svc_stats_latency.
kernel_times() {
    echo "rdma_xid procedure lossy rtt_us server_us read_us execute_us"
    awk -v lossy="$(cat share/lossy)" '
        function value(name) {
            return match($0, name "=[^ ]*") ? substr($0, RSTART + length(name) + 1, RLENGTH - length(name) - 1) : ""
        }
        { event = $5; time = $4 + 0; thread = $1; xid = value("xid") }
        event == "rpc_stats_latency:" { order[++rpcs] = xid; rtt[xid] = value("rtt"); name[xid] = $9; at[xid] = time }
        event == "cq_schedule:" { scheduled[value("cq.id")] = time }
        event == "svcrdma_wc_recv:" { received[value("cid")] = scheduled[value("cq.id")] }
        event == "svcrdma_decode_rqst:" { begun[xid] = received[value("cid")] }
        event == "svcrdma_post_read_chunk:" { reader[value("cid")] = of[thread] }
        event == "svcrdma_wc_read:" { read[reader[value("cid")]] = value("latency-us") }
        event == "svc_stats_latency:" { execute[xid] = value("execute-us") }
        event == "svcrdma_post_send:" { posted[of[thread]] = time }
        xid != "" { of[thread] = xid }
        END {
            for (place = 1; place <= rpcs; place++) {
                xid = order[place]
                if (posted[xid] && begun[xid])
                    print xid, name[xid], (at[xid] > lossy ? "yes" : "no"), rtt[xid], int((posted[xid] - begun[xid]) * 1e6 + 0.5),
                        (xid in read ? read[xid] : "-"), execute[xid]
            }
        }' share/client.trace share/server.trace
}

# agree NAME: reads pairs of microseconds, of which the second is the kernel's. Fails unless 99 of 100 differ by at most 1 ms or 5 %.
agree() {
    awk -v what="$1" '
        { far = $1 - $2; if (far < 0) far = -far; near += far <= 1000 || far <= $2 / 20; if (far > most) most = far }
        END { printf "%-40s %4d of %4d agree, at most %.3f ms apart\n", what, near, NR, most / 1000; exit !(NR && near >= 0.99 * NR) }'
}

verdict() {
    needs jq jq
    local end
    kernel_times >kernel_trace_ends.txt
    for end in client server; do
        "$rpcrdma" -q transactions --json "share/$end.pcap" >"$end.json" || fault "the capture of the $end is damaged"
        jq -r '[.rdma_xid] + ([.latency_ns, .phases.responder_ns, .phases.rdma_read_ns, .phases.rdma_write_ns] | map((. // 0) / 1000)) | join(" ")' \
            "$end.json" | sort >"$end.txt"
    done
    awk '$3 == "no"' kernel_trace_ends.txt | sort >without_loss.txt
    # Columns behind the XID: latency, responder, pull, push; name, lossy, rtt, server, read, execute.
    join client.txt without_loss.txt | awk '{ print $2, $8 }' | agree "round trip" || fault "latencies are not those of the client"
    join server.txt without_loss.txt >both.txt
    awk '{ print $3 + $4, $9 }' both.txt | agree "time of the server" || fault "times of the server are not those that it traced"
    awk '$10 != "-" { print $4, $10 }' both.txt | agree "RDMA Reads" || fault "RDMA Reads did not take as long as the server traced"
}
