# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_rpcrdma_global_optspecs
    string join \n color= q/quiet h/help V/version
end

function __fish_rpcrdma_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_rpcrdma_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_rpcrdma_using_subcommand
    set -l cmd (__fish_rpcrdma_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -s V -l version -d 'Print version'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "diagnose" -d 'Print what makes RPCs wait, whose it is, and what the capture cannot show'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "decode" -d 'Print the messages, one line each'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "transactions" -d 'Print the RPCs, one line each: call, reply, and the data that RDMA moved'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "slow" -d 'Print the slowest RPCs, and where their time went'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "explain" -d 'Print one RPC with all that is known of it: what its ends sent each other, and where its time went'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "pending" -d 'Print the calls without a reply, the oldest first, and who owes what'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "events" -d 'Print what was sent again, and the other signs that packets were lost, one line each'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "top" -d 'Count RPCs, octets and latencies by client, operation, file and the like'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "export" -d 'Write the RPCs to a capture file as RPC over TCP'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "annotate" -d 'Write the frames to a pcapng file, with comments on what they carry and which rules they break'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "anonymize" -d 'Write the frames to a capture file without names, addresses and data, to share it'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "trace" -d 'Write the RPCs as trace events, for Perfetto and speedscope'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "report" -d 'Write a report on a capture: one HTML file, for a ticket'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "view" -d 'Write the page that explores captures: one HTML file, with the captures inside'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "stats" -d 'Count connections, messages, chunks, credits, retransmissions and latencies'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "compare" -d 'Compare two captures: what fails, is sent again or is slower now, and which rules are broken now'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "check" -d 'Report which rules of RPC-over-RDMA the messages and RDMA operations break'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "header" -d 'Decode one Send from a hex dump, and report what is wrong with it'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "schema" -d 'Print the JSON Schema of the records that --json prints'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "completions" -d 'Print a completion script for a shell'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "man" -d 'Print the manual page of the program or of one command'
complete -c rpcrdma -n "__fish_rpcrdma_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l connection -d 'Show only this connection, or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l xid -d 'Show only this rdma_xid (0x5a7a4583, or decimal), or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l since -d 'Show what was under way at this time or later: RPCs that had not ended, messages since then. TIME is seconds after the first frame (+12.5), a time of day on the day of the first frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it has a zone' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l until -d 'Show what was under way at this time or earlier' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l client -d 'Show only RPCs of this client: the end that calls, except for callbacks. If the capture does not tell client from server, either end matches. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l server -d 'Show only RPCs of this server. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l op -d 'Show only this procedure, or COMPOUNDs with this operation (READ), or one of these (READ,WRITE); may be repeated. Messages whose procedure is unknown are omitted' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l status -d 'Show only RPCs that ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or RPC-over-RDMA (ERR_CHUNK), or SUCCESS; or with one of these (NFS4ERR_DELAY,NFS4ERR_GRACE). May be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l file -d 'Show only RPCs about the file of this name, as far as the capture shows names of files; may be repeated. If several files have the name, "NAME in FOLDER" is one of them, as `top --by name` prints it' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l frame -d 'Show only the RPC that this frame is part of, and those in flight at this frame; several are separated by commas' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l slower-than -d 'Show only RPCs that took this time or longer, and what belongs to them (50ms; also ns, us, s, m and h)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l port -d 'Also treat this port as RPC-over-RDMA, besides 20049; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l captured-at -d 'Place of the capture: it tells which phases of an RPC contain time in the network. By default, it is inferred for each connection, if one of its ends takes much longer to acknowledge than the other' -r -f -a "requester\t'At the end that calls (for callbacks, the end that is called)'
responder\t'At the end that is called'
between\t'With a network on either side'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l v2-family -d 'Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be in only one of them decides for its connection' -r -f -a "a\t''
b\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -s j -l jobs -d 'With --separate, read this many files at the same time; by default, as many as there are processors' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l failed -d 'Show only RPCs that ended with an error. A referral to another server (NFS4ERR_MOVED) is none'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l verify-crc -d 'Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a wrong CRC are counted even without this)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l json -d 'Print one JSON object'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -l separate -d 'Read each FILE as a capture of its own, several at the same time. Their output comes in the order of the files, each below its name; JSON objects have the name in "capture_file". A file that cannot be read does not stop the others, and the exit status is the greatest one'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand diagnose" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l connection -d 'Show only this connection, or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l xid -d 'Show only this rdma_xid (0x5a7a4583, or decimal), or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l since -d 'Show what was under way at this time or later: RPCs that had not ended, messages since then. TIME is seconds after the first frame (+12.5), a time of day on the day of the first frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it has a zone' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l until -d 'Show what was under way at this time or earlier' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l client -d 'Show only RPCs of this client: the end that calls, except for callbacks. If the capture does not tell client from server, either end matches. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l server -d 'Show only RPCs of this server. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l op -d 'Show only this procedure, or COMPOUNDs with this operation (READ), or one of these (READ,WRITE); may be repeated. Messages whose procedure is unknown are omitted' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l status -d 'Show only RPCs that ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or RPC-over-RDMA (ERR_CHUNK), or SUCCESS; or with one of these (NFS4ERR_DELAY,NFS4ERR_GRACE). May be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l file -d 'Show only RPCs about the file of this name, as far as the capture shows names of files; may be repeated. If several files have the name, "NAME in FOLDER" is one of them, as `top --by name` prints it' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l frame -d 'Show only the RPC that this frame is part of, and those in flight at this frame; several are separated by commas' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l slower-than -d 'Show only RPCs that took this time or longer, and what belongs to them (50ms; also ns, us, s, m and h)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l port -d 'Also treat this port as RPC-over-RDMA, besides 20049; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l captured-at -d 'Place of the capture: it tells which phases of an RPC contain time in the network. By default, it is inferred for each connection, if one of its ends takes much longer to acknowledge than the other' -r -f -a "requester\t'At the end that calls (for callbacks, the end that is called)'
responder\t'At the end that is called'
between\t'With a network on either side'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l v2-family -d 'Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be in only one of them decides for its connection' -r -f -a "a\t''
b\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l time -d 'Form of times: seconds since the first frame, the time of day, or both. JSON has nanoseconds since 1970' -r -f -a "since\t'Seconds since the first frame'
clock\t'The time of day; the date too, if it is another than that of the first frame'
both\t'Both'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l zone -d 'The zone of times of day, ahead of UTC (+02:00)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l parquet -d 'Print nothing, and write a table of the dataset in DIR: zstd-compressed Parquet files, by capture and hour, with the fields of --json as columns. A table that is there already is left alone. Only if the program was built with the feature parquet' -r -F
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -s j -l jobs -d 'With --separate, read this many files at the same time; by default, as many as there are processors' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l failed -d 'Show only RPCs that ended with an error. A referral to another server (NFS4ERR_MOVED) is none'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l verify-crc -d 'Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a wrong CRC are counted even without this)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -s v -l verbose -d 'Print each field of the header with its offset'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l json -d 'Print one JSON object per line'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -l separate -d 'Read each FILE as a capture of its own, several at the same time. Their output comes in the order of the files, each below its name; JSON objects have the name in "capture_file". A file that cannot be read does not stop the others, and the exit status is the greatest one'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand decode" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l connection -d 'Show only this connection, or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l xid -d 'Show only this rdma_xid (0x5a7a4583, or decimal), or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l since -d 'Show what was under way at this time or later: RPCs that had not ended, messages since then. TIME is seconds after the first frame (+12.5), a time of day on the day of the first frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it has a zone' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l until -d 'Show what was under way at this time or earlier' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l client -d 'Show only RPCs of this client: the end that calls, except for callbacks. If the capture does not tell client from server, either end matches. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l server -d 'Show only RPCs of this server. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l op -d 'Show only this procedure, or COMPOUNDs with this operation (READ), or one of these (READ,WRITE); may be repeated. Messages whose procedure is unknown are omitted' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l status -d 'Show only RPCs that ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or RPC-over-RDMA (ERR_CHUNK), or SUCCESS; or with one of these (NFS4ERR_DELAY,NFS4ERR_GRACE). May be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l file -d 'Show only RPCs about the file of this name, as far as the capture shows names of files; may be repeated. If several files have the name, "NAME in FOLDER" is one of them, as `top --by name` prints it' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l frame -d 'Show only the RPC that this frame is part of, and those in flight at this frame; several are separated by commas' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l slower-than -d 'Show only RPCs that took this time or longer, and what belongs to them (50ms; also ns, us, s, m and h)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l port -d 'Also treat this port as RPC-over-RDMA, besides 20049; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l captured-at -d 'Place of the capture: it tells which phases of an RPC contain time in the network. By default, it is inferred for each connection, if one of its ends takes much longer to acknowledge than the other' -r -f -a "requester\t'At the end that calls (for callbacks, the end that is called)'
responder\t'At the end that is called'
between\t'With a network on either side'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l v2-family -d 'Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be in only one of them decides for its connection' -r -f -a "a\t''
b\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l time -d 'Form of times: seconds since the first frame, the time of day, or both. JSON has nanoseconds since 1970' -r -f -a "since\t'Seconds since the first frame'
clock\t'The time of day; the date too, if it is another than that of the first frame'
both\t'Both'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l zone -d 'The zone of times of day, ahead of UTC (+02:00)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l parquet -d 'Print nothing, and write a table of the dataset in DIR: zstd-compressed Parquet files, by capture and hour, with the fields of --json as columns. A table that is there already is left alone. Only if the program was built with the feature parquet' -r -F
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -s j -l jobs -d 'With --separate, read this many files at the same time; by default, as many as there are processors' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l failed -d 'Show only RPCs that ended with an error. A referral to another server (NFS4ERR_MOVED) is none'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l verify-crc -d 'Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a wrong CRC are counted even without this)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l json -d 'Print one JSON object per line'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l csv -d 'Print comma-separated values (RFC 4180), with the names of the columns in the first line: the fields of --json. Fields of a nested object are prefixed with the object\'s name (phases_call_ns). The names of operations and the frames of recovery are one cell each, joined by spaces; other lists are left out'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -l separate -d 'Read each FILE as a capture of its own, several at the same time. Their output comes in the order of the files, each below its name; JSON objects have the name in "capture_file". A file that cannot be read does not stop the others, and the exit status is the greatest one'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand transactions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l connection -d 'Show only this connection, or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l xid -d 'Show only this rdma_xid (0x5a7a4583, or decimal), or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l since -d 'Show what was under way at this time or later: RPCs that had not ended, messages since then. TIME is seconds after the first frame (+12.5), a time of day on the day of the first frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it has a zone' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l until -d 'Show what was under way at this time or earlier' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l client -d 'Show only RPCs of this client: the end that calls, except for callbacks. If the capture does not tell client from server, either end matches. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l server -d 'Show only RPCs of this server. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l op -d 'Show only this procedure, or COMPOUNDs with this operation (READ), or one of these (READ,WRITE); may be repeated. Messages whose procedure is unknown are omitted' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l status -d 'Show only RPCs that ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or RPC-over-RDMA (ERR_CHUNK), or SUCCESS; or with one of these (NFS4ERR_DELAY,NFS4ERR_GRACE). May be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l file -d 'Show only RPCs about the file of this name, as far as the capture shows names of files; may be repeated. If several files have the name, "NAME in FOLDER" is one of them, as `top --by name` prints it' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l frame -d 'Show only the RPC that this frame is part of, and those in flight at this frame; several are separated by commas' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l slower-than -d 'Show only RPCs that took this time or longer, and what belongs to them (50ms; also ns, us, s, m and h)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l port -d 'Also treat this port as RPC-over-RDMA, besides 20049; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l captured-at -d 'Place of the capture: it tells which phases of an RPC contain time in the network. By default, it is inferred for each connection, if one of its ends takes much longer to acknowledge than the other' -r -f -a "requester\t'At the end that calls (for callbacks, the end that is called)'
responder\t'At the end that is called'
between\t'With a network on either side'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l v2-family -d 'Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be in only one of them decides for its connection' -r -f -a "a\t''
b\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l time -d 'Form of times: seconds since the first frame, the time of day, or both. JSON has nanoseconds since 1970' -r -f -a "since\t'Seconds since the first frame'
clock\t'The time of day; the date too, if it is another than that of the first frame'
both\t'Both'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l zone -d 'The zone of times of day, ahead of UTC (+02:00)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l top -d 'Print at most this many RPCs' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -s j -l jobs -d 'With --separate, read this many files at the same time; by default, as many as there are processors' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l failed -d 'Show only RPCs that ended with an error. A referral to another server (NFS4ERR_MOVED) is none'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l verify-crc -d 'Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a wrong CRC are counted even without this)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l json -d 'Print one JSON object per line, as \'transactions --json\' does'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -l separate -d 'Read each FILE as a capture of its own, several at the same time. Their output comes in the order of the files, each below its name; JSON objects have the name in "capture_file". A file that cannot be read does not stop the others, and the exit status is the greatest one'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand slow" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l connection -d 'Show only this connection, or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l since -d 'Show what was under way at this time or later: RPCs that had not ended, messages since then. TIME is seconds after the first frame (+12.5), a time of day on the day of the first frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it has a zone' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l until -d 'Show what was under way at this time or earlier' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l client -d 'Show only RPCs of this client: the end that calls, except for callbacks. If the capture does not tell client from server, either end matches. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l server -d 'Show only RPCs of this server. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l op -d 'Show only this procedure, or COMPOUNDs with this operation (READ), or one of these (READ,WRITE); may be repeated. Messages whose procedure is unknown are omitted' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l status -d 'Show only RPCs that ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or RPC-over-RDMA (ERR_CHUNK), or SUCCESS; or with one of these (NFS4ERR_DELAY,NFS4ERR_GRACE). May be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l file -d 'Show only RPCs about the file of this name, as far as the capture shows names of files; may be repeated. If several files have the name, "NAME in FOLDER" is one of them, as `top --by name` prints it' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l frame -d 'Show only the RPC that this frame is part of, and those in flight at this frame; several are separated by commas' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l slower-than -d 'Show only RPCs that took this time or longer, and what belongs to them (50ms; also ns, us, s, m and h)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l port -d 'Also treat this port as RPC-over-RDMA, besides 20049; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l captured-at -d 'Place of the capture: it tells which phases of an RPC contain time in the network. By default, it is inferred for each connection, if one of its ends takes much longer to acknowledge than the other' -r -f -a "requester\t'At the end that calls (for callbacks, the end that is called)'
responder\t'At the end that is called'
between\t'With a network on either side'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l v2-family -d 'Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be in only one of them decides for its connection' -r -f -a "a\t''
b\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l xid -d 'Show only this rdma_xid (0x5a7a4583, or decimal), or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l failed -d 'Show only RPCs that ended with an error. A referral to another server (NFS4ERR_MOVED) is none'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l verify-crc -d 'Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a wrong CRC are counted even without this)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -l json -d 'Print one JSON object per line'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l connection -d 'Show only this connection, or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l xid -d 'Show only this rdma_xid (0x5a7a4583, or decimal), or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l since -d 'Show what was under way at this time or later: RPCs that had not ended, messages since then. TIME is seconds after the first frame (+12.5), a time of day on the day of the first frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it has a zone' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l until -d 'Show what was under way at this time or earlier' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l client -d 'Show only RPCs of this client: the end that calls, except for callbacks. If the capture does not tell client from server, either end matches. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l server -d 'Show only RPCs of this server. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l op -d 'Show only this procedure, or COMPOUNDs with this operation (READ), or one of these (READ,WRITE); may be repeated. Messages whose procedure is unknown are omitted' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l status -d 'Show only RPCs that ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or RPC-over-RDMA (ERR_CHUNK), or SUCCESS; or with one of these (NFS4ERR_DELAY,NFS4ERR_GRACE). May be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l file -d 'Show only RPCs about the file of this name, as far as the capture shows names of files; may be repeated. If several files have the name, "NAME in FOLDER" is one of them, as `top --by name` prints it' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l frame -d 'Show only the RPC that this frame is part of, and those in flight at this frame; several are separated by commas' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l slower-than -d 'Show only RPCs that took this time or longer, and what belongs to them (50ms; also ns, us, s, m and h)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l port -d 'Also treat this port as RPC-over-RDMA, besides 20049; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l captured-at -d 'Place of the capture: it tells which phases of an RPC contain time in the network. By default, it is inferred for each connection, if one of its ends takes much longer to acknowledge than the other' -r -f -a "requester\t'At the end that calls (for callbacks, the end that is called)'
responder\t'At the end that is called'
between\t'With a network on either side'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l v2-family -d 'Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be in only one of them decides for its connection' -r -f -a "a\t''
b\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l time -d 'Form of times: seconds since the first frame, the time of day, or both. JSON has nanoseconds since 1970' -r -f -a "since\t'Seconds since the first frame'
clock\t'The time of day; the date too, if it is another than that of the first frame'
both\t'Both'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l zone -d 'The zone of times of day, ahead of UTC (+02:00)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l older-than -d 'Print only calls that have waited this long (5s; also ns, us and ms); --slower-than does the same' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -s j -l jobs -d 'With --separate, read this many files at the same time; by default, as many as there are processors' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l failed -d 'Show only RPCs that ended with an error. A referral to another server (NFS4ERR_MOVED) is none'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l verify-crc -d 'Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a wrong CRC are counted even without this)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l json -d 'Print one JSON object per line'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -l separate -d 'Read each FILE as a capture of its own, several at the same time. Their output comes in the order of the files, each below its name; JSON objects have the name in "capture_file". A file that cannot be read does not stop the others, and the exit status is the greatest one'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand pending" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l connection -d 'Show only this connection, or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l xid -d 'Show only this rdma_xid (0x5a7a4583, or decimal), or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l since -d 'Show what was under way at this time or later: RPCs that had not ended, messages since then. TIME is seconds after the first frame (+12.5), a time of day on the day of the first frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it has a zone' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l until -d 'Show what was under way at this time or earlier' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l client -d 'Show only RPCs of this client: the end that calls, except for callbacks. If the capture does not tell client from server, either end matches. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l server -d 'Show only RPCs of this server. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l op -d 'Show only this procedure, or COMPOUNDs with this operation (READ), or one of these (READ,WRITE); may be repeated. Messages whose procedure is unknown are omitted' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l status -d 'Show only RPCs that ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or RPC-over-RDMA (ERR_CHUNK), or SUCCESS; or with one of these (NFS4ERR_DELAY,NFS4ERR_GRACE). May be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l file -d 'Show only RPCs about the file of this name, as far as the capture shows names of files; may be repeated. If several files have the name, "NAME in FOLDER" is one of them, as `top --by name` prints it' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l frame -d 'Show only the RPC that this frame is part of, and those in flight at this frame; several are separated by commas' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l slower-than -d 'Show only RPCs that took this time or longer, and what belongs to them (50ms; also ns, us, s, m and h)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l port -d 'Also treat this port as RPC-over-RDMA, besides 20049; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l captured-at -d 'Place of the capture: it tells which phases of an RPC contain time in the network. By default, it is inferred for each connection, if one of its ends takes much longer to acknowledge than the other' -r -f -a "requester\t'At the end that calls (for callbacks, the end that is called)'
responder\t'At the end that is called'
between\t'With a network on either side'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l v2-family -d 'Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be in only one of them decides for its connection' -r -f -a "a\t''
b\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l time -d 'Form of times: seconds since the first frame, the time of day, or both. JSON has nanoseconds since 1970' -r -f -a "since\t'Seconds since the first frame'
clock\t'The time of day; the date too, if it is another than that of the first frame'
both\t'Both'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l zone -d 'The zone of times of day, ahead of UTC (+02:00)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -s j -l jobs -d 'With --separate, read this many files at the same time; by default, as many as there are processors' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l failed -d 'Show only RPCs that ended with an error. A referral to another server (NFS4ERR_MOVED) is none'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l verify-crc -d 'Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a wrong CRC are counted even without this)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l json -d 'Print one JSON object per line'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l csv -d 'Print comma-separated values (RFC 4180), with the names of the columns in the first line: the fields of --json'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -l separate -d 'Read each FILE as a capture of its own, several at the same time. Their output comes in the order of the files, each below its name; JSON objects have the name in "capture_file". A file that cannot be read does not stop the others, and the exit status is the greatest one'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand events" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l connection -d 'Show only this connection, or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l xid -d 'Show only this rdma_xid (0x5a7a4583, or decimal), or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l since -d 'Show what was under way at this time or later: RPCs that had not ended, messages since then. TIME is seconds after the first frame (+12.5), a time of day on the day of the first frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it has a zone' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l until -d 'Show what was under way at this time or earlier' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l client -d 'Show only RPCs of this client: the end that calls, except for callbacks. If the capture does not tell client from server, either end matches. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l server -d 'Show only RPCs of this server. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l op -d 'Show only this procedure, or COMPOUNDs with this operation (READ), or one of these (READ,WRITE); may be repeated. Messages whose procedure is unknown are omitted' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l status -d 'Show only RPCs that ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or RPC-over-RDMA (ERR_CHUNK), or SUCCESS; or with one of these (NFS4ERR_DELAY,NFS4ERR_GRACE). May be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l file -d 'Show only RPCs about the file of this name, as far as the capture shows names of files; may be repeated. If several files have the name, "NAME in FOLDER" is one of them, as `top --by name` prints it' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l frame -d 'Show only the RPC that this frame is part of, and those in flight at this frame; several are separated by commas' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l slower-than -d 'Show only RPCs that took this time or longer, and what belongs to them (50ms; also ns, us, s, m and h)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l port -d 'Also treat this port as RPC-over-RDMA, besides 20049; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l captured-at -d 'Place of the capture: it tells which phases of an RPC contain time in the network. By default, it is inferred for each connection, if one of its ends takes much longer to acknowledge than the other' -r -f -a "requester\t'At the end that calls (for callbacks, the end that is called)'
responder\t'At the end that is called'
between\t'With a network on either side'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l v2-family -d 'Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be in only one of them decides for its connection' -r -f -a "a\t''
b\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l by -d 'Count the RPCs by this' -r -f -a "client\t''
server\t''
operation\t''
handle\t''
name\t''
status\t''
connection\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l rows -d 'Print at most this many rows, and count the rest as others' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -s j -l jobs -d 'With --separate, read this many files at the same time; by default, as many as there are processors' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l failed -d 'Show only RPCs that ended with an error. A referral to another server (NFS4ERR_MOVED) is none'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l verify-crc -d 'Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a wrong CRC are counted even without this)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l json -d 'Print one JSON object per line'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l csv -d 'Print comma-separated values (RFC 4180), with the names of the columns in the first line: the fields of --json. Fields of a nested object are prefixed with the object\'s name'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -l separate -d 'Read each FILE as a capture of its own, several at the same time. Their output comes in the order of the files, each below its name; JSON objects have the name in "capture_file". A file that cannot be read does not stop the others, and the exit status is the greatest one'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand top" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -l connection -d 'Show only this connection, or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -l xid -d 'Show only this rdma_xid (0x5a7a4583, or decimal), or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -l since -d 'Show what was under way at this time or later: RPCs that had not ended, messages since then. TIME is seconds after the first frame (+12.5), a time of day on the day of the first frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it has a zone' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -l until -d 'Show what was under way at this time or earlier' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -l client -d 'Show only RPCs of this client: the end that calls, except for callbacks. If the capture does not tell client from server, either end matches. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -l server -d 'Show only RPCs of this server. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -l op -d 'Show only this procedure, or COMPOUNDs with this operation (READ), or one of these (READ,WRITE); may be repeated. Messages whose procedure is unknown are omitted' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -l status -d 'Show only RPCs that ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or RPC-over-RDMA (ERR_CHUNK), or SUCCESS; or with one of these (NFS4ERR_DELAY,NFS4ERR_GRACE). May be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -l file -d 'Show only RPCs about the file of this name, as far as the capture shows names of files; may be repeated. If several files have the name, "NAME in FOLDER" is one of them, as `top --by name` prints it' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -l frame -d 'Show only the RPC that this frame is part of, and those in flight at this frame; several are separated by commas' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -l slower-than -d 'Show only RPCs that took this time or longer, and what belongs to them (50ms; also ns, us, s, m and h)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -l port -d 'Also treat this port as RPC-over-RDMA, besides 20049; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -l captured-at -d 'Place of the capture: it tells which phases of an RPC contain time in the network. By default, it is inferred for each connection, if one of its ends takes much longer to acknowledge than the other' -r -f -a "requester\t'At the end that calls (for callbacks, the end that is called)'
responder\t'At the end that is called'
between\t'With a network on either side'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -l v2-family -d 'Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be in only one of them decides for its connection' -r -f -a "a\t''
b\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -s o -l output -d 'The file to write: pcapng if its name ends in .pcapng, otherwise pcap, and compressed if .gz or .zst follows; - is standard output' -r -F
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -l failed -d 'Show only RPCs that ended with an error. A referral to another server (NFS4ERR_MOVED) is none'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -l verify-crc -d 'Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a wrong CRC are counted even without this)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l connection -d 'Show only this connection, or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l xid -d 'Show only this rdma_xid (0x5a7a4583, or decimal), or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l since -d 'Show what was under way at this time or later: RPCs that had not ended, messages since then. TIME is seconds after the first frame (+12.5), a time of day on the day of the first frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it has a zone' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l until -d 'Show what was under way at this time or earlier' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l client -d 'Show only RPCs of this client: the end that calls, except for callbacks. If the capture does not tell client from server, either end matches. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l server -d 'Show only RPCs of this server. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l op -d 'Show only this procedure, or COMPOUNDs with this operation (READ), or one of these (READ,WRITE); may be repeated. Messages whose procedure is unknown are omitted' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l status -d 'Show only RPCs that ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or RPC-over-RDMA (ERR_CHUNK), or SUCCESS; or with one of these (NFS4ERR_DELAY,NFS4ERR_GRACE). May be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l file -d 'Show only RPCs about the file of this name, as far as the capture shows names of files; may be repeated. If several files have the name, "NAME in FOLDER" is one of them, as `top --by name` prints it' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l frame -d 'Show only the RPC that this frame is part of, and those in flight at this frame; several are separated by commas' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l slower-than -d 'Show only RPCs that took this time or longer, and what belongs to them (50ms; also ns, us, s, m and h)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l port -d 'Also treat this port as RPC-over-RDMA, besides 20049; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l captured-at -d 'Place of the capture: it tells which phases of an RPC contain time in the network. By default, it is inferred for each connection, if one of its ends takes much longer to acknowledge than the other' -r -f -a "requester\t'At the end that calls (for callbacks, the end that is called)'
responder\t'At the end that is called'
between\t'With a network on either side'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l v2-family -d 'Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be in only one of them decides for its connection' -r -f -a "a\t''
b\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -s o -l output -d 'The pcapng file to write, compressed if its name ends in .gz or .zst; - is standard output' -r -F
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l profile -d 'Write the Wireshark profile \'rpcrdma\' to this folder of profiles' -r -F
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l failed -d 'Show only RPCs that ended with an error. A referral to another server (NFS4ERR_MOVED) is none'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -l verify-crc -d 'Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a wrong CRC are counted even without this)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand annotate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l connection -d 'Show only this connection, or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l xid -d 'Show only this rdma_xid (0x5a7a4583, or decimal), or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l since -d 'Show what was under way at this time or later: RPCs that had not ended, messages since then. TIME is seconds after the first frame (+12.5), a time of day on the day of the first frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it has a zone' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l until -d 'Show what was under way at this time or earlier' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l client -d 'Show only RPCs of this client: the end that calls, except for callbacks. If the capture does not tell client from server, either end matches. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l server -d 'Show only RPCs of this server. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l op -d 'Show only this procedure, or COMPOUNDs with this operation (READ), or one of these (READ,WRITE); may be repeated. Messages whose procedure is unknown are omitted' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l status -d 'Show only RPCs that ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or RPC-over-RDMA (ERR_CHUNK), or SUCCESS; or with one of these (NFS4ERR_DELAY,NFS4ERR_GRACE). May be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l file -d 'Show only RPCs about the file of this name, as far as the capture shows names of files; may be repeated. If several files have the name, "NAME in FOLDER" is one of them, as `top --by name` prints it' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l frame -d 'Show only the RPC that this frame is part of, and those in flight at this frame; several are separated by commas' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l slower-than -d 'Show only RPCs that took this time or longer, and what belongs to them (50ms; also ns, us, s, m and h)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l port -d 'Also treat this port as RPC-over-RDMA, besides 20049; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l captured-at -d 'Place of the capture: it tells which phases of an RPC contain time in the network. By default, it is inferred for each connection, if one of its ends takes much longer to acknowledge than the other' -r -f -a "requester\t'At the end that calls (for callbacks, the end that is called)'
responder\t'At the end that is called'
between\t'With a network on either side'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l v2-family -d 'Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be in only one of them decides for its connection' -r -f -a "a\t''
b\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -s o -l output -d 'The file to write: pcapng if its name ends in .pcapng, otherwise pcap, and compressed if .gz or .zst follows; - is standard output' -r -F
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l key -d 'Key of 64 hexadecimal digits: the same key makes the same replacements in every capture. Keep it secret: with it, addresses can be restored and names can be guessed. By default, the key is random and not kept' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l failed -d 'Show only RPCs that ended with an error. A referral to another server (NFS4ERR_MOVED) is none'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -l verify-crc -d 'Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a wrong CRC are counted even without this)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand anonymize" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -l connection -d 'Show only this connection, or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -l xid -d 'Show only this rdma_xid (0x5a7a4583, or decimal), or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -l since -d 'Show what was under way at this time or later: RPCs that had not ended, messages since then. TIME is seconds after the first frame (+12.5), a time of day on the day of the first frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it has a zone' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -l until -d 'Show what was under way at this time or earlier' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -l client -d 'Show only RPCs of this client: the end that calls, except for callbacks. If the capture does not tell client from server, either end matches. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -l server -d 'Show only RPCs of this server. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -l op -d 'Show only this procedure, or COMPOUNDs with this operation (READ), or one of these (READ,WRITE); may be repeated. Messages whose procedure is unknown are omitted' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -l status -d 'Show only RPCs that ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or RPC-over-RDMA (ERR_CHUNK), or SUCCESS; or with one of these (NFS4ERR_DELAY,NFS4ERR_GRACE). May be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -l file -d 'Show only RPCs about the file of this name, as far as the capture shows names of files; may be repeated. If several files have the name, "NAME in FOLDER" is one of them, as `top --by name` prints it' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -l frame -d 'Show only the RPC that this frame is part of, and those in flight at this frame; several are separated by commas' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -l slower-than -d 'Show only RPCs that took this time or longer, and what belongs to them (50ms; also ns, us, s, m and h)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -l port -d 'Also treat this port as RPC-over-RDMA, besides 20049; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -l captured-at -d 'Place of the capture: it tells which phases of an RPC contain time in the network. By default, it is inferred for each connection, if one of its ends takes much longer to acknowledge than the other' -r -f -a "requester\t'At the end that calls (for callbacks, the end that is called)'
responder\t'At the end that is called'
between\t'With a network on either side'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -l v2-family -d 'Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be in only one of them decides for its connection' -r -f -a "a\t''
b\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -s o -l output -d 'The JSON file to write, compressed if its name ends in .gz or .zst; - is standard output' -r -F
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -l failed -d 'Show only RPCs that ended with an error. A referral to another server (NFS4ERR_MOVED) is none'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -l verify-crc -d 'Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a wrong CRC are counted even without this)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand trace" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l connection -d 'Show only this connection, or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l xid -d 'Show only this rdma_xid (0x5a7a4583, or decimal), or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l since -d 'Show what was under way at this time or later: RPCs that had not ended, messages since then. TIME is seconds after the first frame (+12.5), a time of day on the day of the first frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it has a zone' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l until -d 'Show what was under way at this time or earlier' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l client -d 'Show only RPCs of this client: the end that calls, except for callbacks. If the capture does not tell client from server, either end matches. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l server -d 'Show only RPCs of this server. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l op -d 'Show only this procedure, or COMPOUNDs with this operation (READ), or one of these (READ,WRITE); may be repeated. Messages whose procedure is unknown are omitted' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l status -d 'Show only RPCs that ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or RPC-over-RDMA (ERR_CHUNK), or SUCCESS; or with one of these (NFS4ERR_DELAY,NFS4ERR_GRACE). May be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l file -d 'Show only RPCs about the file of this name, as far as the capture shows names of files; may be repeated. If several files have the name, "NAME in FOLDER" is one of them, as `top --by name` prints it' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l frame -d 'Show only the RPC that this frame is part of, and those in flight at this frame; several are separated by commas' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l slower-than -d 'Show only RPCs that took this time or longer, and what belongs to them (50ms; also ns, us, s, m and h)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l port -d 'Also treat this port as RPC-over-RDMA, besides 20049; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l captured-at -d 'Place of the capture: it tells which phases of an RPC contain time in the network. By default, it is inferred for each connection, if one of its ends takes much longer to acknowledge than the other' -r -f -a "requester\t'At the end that calls (for callbacks, the end that is called)'
responder\t'At the end that is called'
between\t'With a network on either side'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l v2-family -d 'Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be in only one of them decides for its connection' -r -f -a "a\t''
b\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -s o -l output -d 'The HTML file to write; - is standard output' -r -F
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l known -d 'Leave out the deviations that this implementation is known for; may be repeated' -r -f -a "linux\t'The NFS server of the Linux kernel'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l failed -d 'Show only RPCs that ended with an error. A referral to another server (NFS4ERR_MOVED) is none'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -l verify-crc -d 'Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a wrong CRC are counted even without this)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand view" -s o -l output -d 'The HTML file to write; - is standard output' -r -F
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand view" -l page -d 'The page to write the captures into, instead of the one in the program' -r -F
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand view" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand view" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand view" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l connection -d 'Show only this connection, or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l xid -d 'Show only this rdma_xid (0x5a7a4583, or decimal), or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l since -d 'Show what was under way at this time or later: RPCs that had not ended, messages since then. TIME is seconds after the first frame (+12.5), a time of day on the day of the first frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it has a zone' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l until -d 'Show what was under way at this time or earlier' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l client -d 'Show only RPCs of this client: the end that calls, except for callbacks. If the capture does not tell client from server, either end matches. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l server -d 'Show only RPCs of this server. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l op -d 'Show only this procedure, or COMPOUNDs with this operation (READ), or one of these (READ,WRITE); may be repeated. Messages whose procedure is unknown are omitted' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l status -d 'Show only RPCs that ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or RPC-over-RDMA (ERR_CHUNK), or SUCCESS; or with one of these (NFS4ERR_DELAY,NFS4ERR_GRACE). May be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l file -d 'Show only RPCs about the file of this name, as far as the capture shows names of files; may be repeated. If several files have the name, "NAME in FOLDER" is one of them, as `top --by name` prints it' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l frame -d 'Show only the RPC that this frame is part of, and those in flight at this frame; several are separated by commas' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l slower-than -d 'Show only RPCs that took this time or longer, and what belongs to them (50ms; also ns, us, s, m and h)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l port -d 'Also treat this port as RPC-over-RDMA, besides 20049; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l captured-at -d 'Place of the capture: it tells which phases of an RPC contain time in the network. By default, it is inferred for each connection, if one of its ends takes much longer to acknowledge than the other' -r -f -a "requester\t'At the end that calls (for callbacks, the end that is called)'
responder\t'At the end that is called'
between\t'With a network on either side'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l v2-family -d 'Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be in only one of them decides for its connection' -r -f -a "a\t''
b\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l interval -d 'Print one line per interval of this length (1s; also ns, us and ms) as soon as it ends, not one report on all of the capture' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -s j -l jobs -d 'With --separate, read this many files at the same time; by default, as many as there are processors' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l failed -d 'Show only RPCs that ended with an error. A referral to another server (NFS4ERR_MOVED) is none'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l verify-crc -d 'Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a wrong CRC are counted even without this)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l json -d 'Print one JSON object; with --interval, one per line'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l csv -d 'Print comma-separated values (RFC 4180), with the names of the columns in the first line: a row for each operation, and with --interval for each operation in each interval. The fields are those of --json; what is in an object has the name of the object in front (latency_p50_ns)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -l separate -d 'Read each FILE as a capture of its own, several at the same time. Their output comes in the order of the files, each below its name; JSON objects have the name in "capture_file". A file that cannot be read does not stop the others, and the exit status is the greatest one'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand stats" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l connection -d 'Show only this connection, or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l xid -d 'Show only this rdma_xid (0x5a7a4583, or decimal), or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l since -d 'Show what was under way at this time or later: RPCs that had not ended, messages since then. TIME is seconds after the first frame (+12.5), a time of day on the day of the first frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it has a zone' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l until -d 'Show what was under way at this time or earlier' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l client -d 'Show only RPCs of this client: the end that calls, except for callbacks. If the capture does not tell client from server, either end matches. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l server -d 'Show only RPCs of this server. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l op -d 'Show only this procedure, or COMPOUNDs with this operation (READ), or one of these (READ,WRITE); may be repeated. Messages whose procedure is unknown are omitted' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l status -d 'Show only RPCs that ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or RPC-over-RDMA (ERR_CHUNK), or SUCCESS; or with one of these (NFS4ERR_DELAY,NFS4ERR_GRACE). May be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l file -d 'Show only RPCs about the file of this name, as far as the capture shows names of files; may be repeated. If several files have the name, "NAME in FOLDER" is one of them, as `top --by name` prints it' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l frame -d 'Show only the RPC that this frame is part of, and those in flight at this frame; several are separated by commas' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l slower-than -d 'Show only RPCs that took this time or longer, and what belongs to them (50ms; also ns, us, s, m and h)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l port -d 'Also treat this port as RPC-over-RDMA, besides 20049; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l captured-at -d 'Place of the capture: it tells which phases of an RPC contain time in the network. By default, it is inferred for each connection, if one of its ends takes much longer to acknowledge than the other' -r -f -a "requester\t'At the end that calls (for callbacks, the end that is called)'
responder\t'At the end that is called'
between\t'With a network on either side'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l v2-family -d 'Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be in only one of them decides for its connection' -r -f -a "a\t''
b\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l tolerance -d 'Maximum growth of the median, the 99th percentile and the share of faults of an operation, in percent' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l failed -d 'Show only RPCs that ended with an error. A referral to another server (NFS4ERR_MOVED) is none'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l verify-crc -d 'Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a wrong CRC are counted even without this)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -l json -d 'Print one JSON object per line: one for all RPCs, one for each operation, one for each broken rule'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l connection -d 'Show only this connection, or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l xid -d 'Show only this rdma_xid (0x5a7a4583, or decimal), or these (1,2); may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l since -d 'Show what was under way at this time or later: RPCs that had not ended, messages since then. TIME is seconds after the first frame (+12.5), a time of day on the day of the first frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it has a zone' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l until -d 'Show what was under way at this time or earlier' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l client -d 'Show only RPCs of this client: the end that calls, except for callbacks. If the capture does not tell client from server, either end matches. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l server -d 'Show only RPCs of this server. Several are separated by commas; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l op -d 'Show only this procedure, or COMPOUNDs with this operation (READ), or one of these (READ,WRITE); may be repeated. Messages whose procedure is unknown are omitted' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l status -d 'Show only RPCs that ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or RPC-over-RDMA (ERR_CHUNK), or SUCCESS; or with one of these (NFS4ERR_DELAY,NFS4ERR_GRACE). May be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l file -d 'Show only RPCs about the file of this name, as far as the capture shows names of files; may be repeated. If several files have the name, "NAME in FOLDER" is one of them, as `top --by name` prints it' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l frame -d 'Show only the RPC that this frame is part of, and those in flight at this frame; several are separated by commas' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l slower-than -d 'Show only RPCs that took this time or longer, and what belongs to them (50ms; also ns, us, s, m and h)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l port -d 'Also treat this port as RPC-over-RDMA, besides 20049; may be repeated' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l captured-at -d 'Place of the capture: it tells which phases of an RPC contain time in the network. By default, it is inferred for each connection, if one of its ends takes much longer to acknowledge than the other' -r -f -a "requester\t'At the end that calls (for callbacks, the end that is called)'
responder\t'At the end that is called'
between\t'With a network on either side'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l v2-family -d 'Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be in only one of them decides for its connection' -r -f -a "a\t''
b\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l time -d 'Form of times: seconds since the first frame, the time of day, or both. JSON has nanoseconds since 1970' -r -f -a "since\t'Seconds since the first frame'
clock\t'The time of day; the date too, if it is another than that of the first frame'
both\t'Both'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l zone -d 'The zone of times of day, ahead of UTC (+02:00)' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l rule -d 'Report only this rule; may be repeated' -r -f -a "header-short\t'a Send has at least 28 octets; RDMA_ERROR with ERR_CHUNK has 20, RDMA_DONE 16; in version 2, as many as its header type needs'
version\t'rdma_vers is 1 on a version 1 connection'
proc-unknown\t'rdma_proc is 0 (RDMA_MSG), 1 (RDMA_NOMSG) or 4 (RDMA_ERROR)'
msgp-sent\t'nobody sends RDMA_MSGP'
done-sent\t'nobody sends RDMA_DONE, unless both ends use responder-provided Read chunks'
error-from-requester\t'a requester never sends RDMA_ERROR'
list-flag\t'a word that says whether an entry follows is 0 or 1'
list-truncated\t'the chunk lists end inside the Send'
nomsg-empty\t'RDMA_NOMSG has a chunk that can hold the Payload stream: a Position Zero Read chunk or a Reply chunk'
nomsg-trailing\t'nothing follows the lists of RDMA_NOMSG'
msg-no-payload\t'RDMA_MSG carries a Payload stream that begins with an XID'
xid-mismatch\t'rdma_xid equals the XID of the RPC message'
error-range\t'rdma_err is known; in ERR_VERS, low is not above high, and the refused version is outside the range'
error-trailing\t'nothing follows the body of RDMA_ERROR'
credit-zero-grant\t'a reply never grants 0 credits'
credit-zero-request\t'a call does not request 0 credits'
read-position-align\t'a Position is a multiple of four'
read-in-reply\t'a reply has an empty Read list, unless it is RDMA_NOMSG with a Position Zero Read chunk (responder-provided); that is a hazard until the requester shows that it supports such replies'
read-position-zero-in-msg\t'no Position Zero Read chunk in RDMA_MSG'
read-position-order\t'Positions do not decrease, and the segments at one Position are adjacent in the list'
read-overlap\t'a Read chunk ends at or before the next Position'
long-call-roundup\t'a Position Zero Read chunk includes its padding: its length is a multiple of four'
segment-wraps\t'the offset of a segment plus its length does not exceed 2^64'
segment-empty\t'a Read chunk has no empty segment'
read-position-beyond\t'a Position is inside the unreduced Payload stream, where an item of the arguments begins'
reply-chunk-in-msg\t'RDMA_MSG has no Reply chunk that was used'
reply-chunk-unused-nomsg\t'a reply in RDMA_NOMSG uses the Reply chunk, or a responder-provided Read chunk'
long-reply-roundup\t'the returned length of the Reply chunk is a multiple of four'
write-list-echo\t'the reply returns the Write chunks of the call: the same number, with the same segments, handles and offsets'
write-length\t'no returned length exceeds the one that was offered'
write-fill-order\t'a segment is used only if the one before it is full'
write-unused-form\t'an unused Write chunk comes back with its segments, all of length 0'
write-empty-respected\t'a Write chunk without segments asks for its result inline, and comes back without segments'
reply-chunk-echo\t'the Reply chunk of a call comes back in the reply, with the same segments, handles and offsets'
credit-exceeded\t'the calls in flight never exceed the last grant'
credit-initial\t'only one call is sent before the first reply'
reverse-credit\t'calls in the reverse direction are limited by their own credits, not by those of the forward direction'
inline-exceeded\t'a Send fits the receiver\'s inline threshold: 1024 octets, or what RFC 8797 private data agreed on'
read-length\t'a Read chunk is as long as its item, with or without the padding'
read-roundup\t'a Read chunk leaves out the padding of its item'
write-roundup\t'the returned length of a Write chunk is that of its item, without padding, and no padding is written'
write-unwritten\t'every octet of the length returned for a Write chunk or the Reply chunk was written before the reply'
write-ignored\t'a DDP-eligible result goes into the Write chunk that was provided for it'
ddp-not-eligible\t'only items that the upper-layer binding names are reduced'
gss-reduced\t'nothing is reduced under RPCSEC_GSS integrity or privacy'
read-not-pulled\t'if a call succeeds, its responder has read every octet of its Read chunks, except padding'
invalidate-foreign\t'Send With Invalidate is used only for replies, names a handle of the call, and only if both ends have announced support'
reply-chunk-missing\t'a call that may have a long reply has a Reply chunk; without one, ERR_CHUNK may be the only answer'
error-echo\t'RDMA_ERROR has the xid and the version of the request that it answers'
rdma-read-bounds\t'an RDMA Read stays inside a segment that is advertised and still valid'
rdma-write-bounds\t'an RDMA Write stays inside a segment that is advertised and still valid'
rdma-write-after-reply\t'there is no RDMA Write to a chunk after its reply was sent'
handle-shared\t'only one call in flight advertises a handle'
reply-unexpected\t'a reply or an error matches a call that is still waiting'
reverse-version\t'rdma_vers is the same in both directions of a connection'
v2-version-changed\t'a connection on which both ends have sent messages of version 2 keeps that version'
pull-not-notified\t'once a reply was read from a responder-provided Read chunk, RDMA_DONE follows'
reply-not-ready\t'a requester has a Receive posted for each reply that it expects'
answer\t'a responder refuses a request that it cannot read with the error that is due, or drops it if none is'
private-data-version\t'private data has version 1, 8 octets, and no unknown flag'
private-data-absent\t'each end sends private data'
v2-reserved-flag\t'rdma_flags has no bits without a meaning (drafts -00 to -02)'
v2-response-flag\t'RDMA2_F_RESPONSE is set in replies and errors, and not in calls (drafts -00 to -02)'
v2-more-type\t'RDMA2_F_MORE is set only in RDMA2_MSG and RDMA2_CONNPROP (drafts -00 to -02)'
v2-more-sequence\t'a message with RDMA2_F_MORE is followed by one with the same rdma_xid, rdma_htype and direction (drafts -00 to -02)'
v2-more-chunks\t'a message with RDMA2_F_MORE has no chunks (drafts -00 to -02)'
v2-tpmore\t'RDMA2_F_TPMORE is set in every RDMA2_CONNPROP except the last, and nowhere else (drafts -01, -02)'
v2-credit-zero\t'the low 16 bits of rdma_credit are not 0 (drafts -00 to -02)'
v2-first-message\t'the first message of a client has at most 1024 octets'
v2-inv-handle\t'rdma_inv_handle of a call is 0 or a handle in its header, and its reply invalidates no other'
v2-property\t'the value of a transport property has the length of its type'
v2-continuation\t'a _MIDDLE type is followed by the same type or by its last type, and rdma_remaining counts down (drafts -03 to -07)'
v2-htype\t'rdma_htype is a header type of the wire format in use'
v2-grant-xid\t'RDMA2_GRANT has rdma_xid 0 (drafts -03 to -07)'
v2-trailing\t'nothing follows a header without a Payload stream'
v2-xid-mismatch\t'rdma_xid equals the XID of the RPC message'
v2-no-payload\t'a header with a Payload stream is followed by octets of it; RDMA2_NOMSG with an XID has a chunk that holds the Payload stream'
v2-external\t'RDMA2_CALL_EXTERNAL has a Call chunk, RDMA2_REPLY_EXTERNAL a Reply chunk; only the Call chunk is at Position 0 (drafts -03 to -07)'
v2-read-order\t'Positions are multiples of four and do not decrease'
v2-direction\t'the header of a Call carries a Call, the header of a Reply a Reply (drafts -03 to -07)'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l ignore -d 'Do not report this rule; may be repeated' -r -f -a "header-short\t'a Send has at least 28 octets; RDMA_ERROR with ERR_CHUNK has 20, RDMA_DONE 16; in version 2, as many as its header type needs'
version\t'rdma_vers is 1 on a version 1 connection'
proc-unknown\t'rdma_proc is 0 (RDMA_MSG), 1 (RDMA_NOMSG) or 4 (RDMA_ERROR)'
msgp-sent\t'nobody sends RDMA_MSGP'
done-sent\t'nobody sends RDMA_DONE, unless both ends use responder-provided Read chunks'
error-from-requester\t'a requester never sends RDMA_ERROR'
list-flag\t'a word that says whether an entry follows is 0 or 1'
list-truncated\t'the chunk lists end inside the Send'
nomsg-empty\t'RDMA_NOMSG has a chunk that can hold the Payload stream: a Position Zero Read chunk or a Reply chunk'
nomsg-trailing\t'nothing follows the lists of RDMA_NOMSG'
msg-no-payload\t'RDMA_MSG carries a Payload stream that begins with an XID'
xid-mismatch\t'rdma_xid equals the XID of the RPC message'
error-range\t'rdma_err is known; in ERR_VERS, low is not above high, and the refused version is outside the range'
error-trailing\t'nothing follows the body of RDMA_ERROR'
credit-zero-grant\t'a reply never grants 0 credits'
credit-zero-request\t'a call does not request 0 credits'
read-position-align\t'a Position is a multiple of four'
read-in-reply\t'a reply has an empty Read list, unless it is RDMA_NOMSG with a Position Zero Read chunk (responder-provided); that is a hazard until the requester shows that it supports such replies'
read-position-zero-in-msg\t'no Position Zero Read chunk in RDMA_MSG'
read-position-order\t'Positions do not decrease, and the segments at one Position are adjacent in the list'
read-overlap\t'a Read chunk ends at or before the next Position'
long-call-roundup\t'a Position Zero Read chunk includes its padding: its length is a multiple of four'
segment-wraps\t'the offset of a segment plus its length does not exceed 2^64'
segment-empty\t'a Read chunk has no empty segment'
read-position-beyond\t'a Position is inside the unreduced Payload stream, where an item of the arguments begins'
reply-chunk-in-msg\t'RDMA_MSG has no Reply chunk that was used'
reply-chunk-unused-nomsg\t'a reply in RDMA_NOMSG uses the Reply chunk, or a responder-provided Read chunk'
long-reply-roundup\t'the returned length of the Reply chunk is a multiple of four'
write-list-echo\t'the reply returns the Write chunks of the call: the same number, with the same segments, handles and offsets'
write-length\t'no returned length exceeds the one that was offered'
write-fill-order\t'a segment is used only if the one before it is full'
write-unused-form\t'an unused Write chunk comes back with its segments, all of length 0'
write-empty-respected\t'a Write chunk without segments asks for its result inline, and comes back without segments'
reply-chunk-echo\t'the Reply chunk of a call comes back in the reply, with the same segments, handles and offsets'
credit-exceeded\t'the calls in flight never exceed the last grant'
credit-initial\t'only one call is sent before the first reply'
reverse-credit\t'calls in the reverse direction are limited by their own credits, not by those of the forward direction'
inline-exceeded\t'a Send fits the receiver\'s inline threshold: 1024 octets, or what RFC 8797 private data agreed on'
read-length\t'a Read chunk is as long as its item, with or without the padding'
read-roundup\t'a Read chunk leaves out the padding of its item'
write-roundup\t'the returned length of a Write chunk is that of its item, without padding, and no padding is written'
write-unwritten\t'every octet of the length returned for a Write chunk or the Reply chunk was written before the reply'
write-ignored\t'a DDP-eligible result goes into the Write chunk that was provided for it'
ddp-not-eligible\t'only items that the upper-layer binding names are reduced'
gss-reduced\t'nothing is reduced under RPCSEC_GSS integrity or privacy'
read-not-pulled\t'if a call succeeds, its responder has read every octet of its Read chunks, except padding'
invalidate-foreign\t'Send With Invalidate is used only for replies, names a handle of the call, and only if both ends have announced support'
reply-chunk-missing\t'a call that may have a long reply has a Reply chunk; without one, ERR_CHUNK may be the only answer'
error-echo\t'RDMA_ERROR has the xid and the version of the request that it answers'
rdma-read-bounds\t'an RDMA Read stays inside a segment that is advertised and still valid'
rdma-write-bounds\t'an RDMA Write stays inside a segment that is advertised and still valid'
rdma-write-after-reply\t'there is no RDMA Write to a chunk after its reply was sent'
handle-shared\t'only one call in flight advertises a handle'
reply-unexpected\t'a reply or an error matches a call that is still waiting'
reverse-version\t'rdma_vers is the same in both directions of a connection'
v2-version-changed\t'a connection on which both ends have sent messages of version 2 keeps that version'
pull-not-notified\t'once a reply was read from a responder-provided Read chunk, RDMA_DONE follows'
reply-not-ready\t'a requester has a Receive posted for each reply that it expects'
answer\t'a responder refuses a request that it cannot read with the error that is due, or drops it if none is'
private-data-version\t'private data has version 1, 8 octets, and no unknown flag'
private-data-absent\t'each end sends private data'
v2-reserved-flag\t'rdma_flags has no bits without a meaning (drafts -00 to -02)'
v2-response-flag\t'RDMA2_F_RESPONSE is set in replies and errors, and not in calls (drafts -00 to -02)'
v2-more-type\t'RDMA2_F_MORE is set only in RDMA2_MSG and RDMA2_CONNPROP (drafts -00 to -02)'
v2-more-sequence\t'a message with RDMA2_F_MORE is followed by one with the same rdma_xid, rdma_htype and direction (drafts -00 to -02)'
v2-more-chunks\t'a message with RDMA2_F_MORE has no chunks (drafts -00 to -02)'
v2-tpmore\t'RDMA2_F_TPMORE is set in every RDMA2_CONNPROP except the last, and nowhere else (drafts -01, -02)'
v2-credit-zero\t'the low 16 bits of rdma_credit are not 0 (drafts -00 to -02)'
v2-first-message\t'the first message of a client has at most 1024 octets'
v2-inv-handle\t'rdma_inv_handle of a call is 0 or a handle in its header, and its reply invalidates no other'
v2-property\t'the value of a transport property has the length of its type'
v2-continuation\t'a _MIDDLE type is followed by the same type or by its last type, and rdma_remaining counts down (drafts -03 to -07)'
v2-htype\t'rdma_htype is a header type of the wire format in use'
v2-grant-xid\t'RDMA2_GRANT has rdma_xid 0 (drafts -03 to -07)'
v2-trailing\t'nothing follows a header without a Payload stream'
v2-xid-mismatch\t'rdma_xid equals the XID of the RPC message'
v2-no-payload\t'a header with a Payload stream is followed by octets of it; RDMA2_NOMSG with an XID has a chunk that holds the Payload stream'
v2-external\t'RDMA2_CALL_EXTERNAL has a Call chunk, RDMA2_REPLY_EXTERNAL a Reply chunk; only the Call chunk is at Position 0 (drafts -03 to -07)'
v2-read-order\t'Positions are multiples of four and do not decrease'
v2-direction\t'the header of a Call carries a Call, the header of a Reply a Reply (drafts -03 to -07)'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l known -d 'Accept the deviations that this implementation is known for: count them in the summary, but do not list them, nor exit with 1 for them; may be repeated' -r -f -a "linux\t'The NFS server of the Linux kernel'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l baseline -d 'Accept what is in FILE, the output of an earlier \'check --json\': a finding of the same rule, the same severity and the same peer. It is counted, but not listed, and does not make the exit status 1' -r -F
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l explain -d 'Explain what a rule demands, why, and what a correct peer does; reads no file' -r -f -a "header-short\t'a Send has at least 28 octets; RDMA_ERROR with ERR_CHUNK has 20, RDMA_DONE 16; in version 2, as many as its header type needs'
version\t'rdma_vers is 1 on a version 1 connection'
proc-unknown\t'rdma_proc is 0 (RDMA_MSG), 1 (RDMA_NOMSG) or 4 (RDMA_ERROR)'
msgp-sent\t'nobody sends RDMA_MSGP'
done-sent\t'nobody sends RDMA_DONE, unless both ends use responder-provided Read chunks'
error-from-requester\t'a requester never sends RDMA_ERROR'
list-flag\t'a word that says whether an entry follows is 0 or 1'
list-truncated\t'the chunk lists end inside the Send'
nomsg-empty\t'RDMA_NOMSG has a chunk that can hold the Payload stream: a Position Zero Read chunk or a Reply chunk'
nomsg-trailing\t'nothing follows the lists of RDMA_NOMSG'
msg-no-payload\t'RDMA_MSG carries a Payload stream that begins with an XID'
xid-mismatch\t'rdma_xid equals the XID of the RPC message'
error-range\t'rdma_err is known; in ERR_VERS, low is not above high, and the refused version is outside the range'
error-trailing\t'nothing follows the body of RDMA_ERROR'
credit-zero-grant\t'a reply never grants 0 credits'
credit-zero-request\t'a call does not request 0 credits'
read-position-align\t'a Position is a multiple of four'
read-in-reply\t'a reply has an empty Read list, unless it is RDMA_NOMSG with a Position Zero Read chunk (responder-provided); that is a hazard until the requester shows that it supports such replies'
read-position-zero-in-msg\t'no Position Zero Read chunk in RDMA_MSG'
read-position-order\t'Positions do not decrease, and the segments at one Position are adjacent in the list'
read-overlap\t'a Read chunk ends at or before the next Position'
long-call-roundup\t'a Position Zero Read chunk includes its padding: its length is a multiple of four'
segment-wraps\t'the offset of a segment plus its length does not exceed 2^64'
segment-empty\t'a Read chunk has no empty segment'
read-position-beyond\t'a Position is inside the unreduced Payload stream, where an item of the arguments begins'
reply-chunk-in-msg\t'RDMA_MSG has no Reply chunk that was used'
reply-chunk-unused-nomsg\t'a reply in RDMA_NOMSG uses the Reply chunk, or a responder-provided Read chunk'
long-reply-roundup\t'the returned length of the Reply chunk is a multiple of four'
write-list-echo\t'the reply returns the Write chunks of the call: the same number, with the same segments, handles and offsets'
write-length\t'no returned length exceeds the one that was offered'
write-fill-order\t'a segment is used only if the one before it is full'
write-unused-form\t'an unused Write chunk comes back with its segments, all of length 0'
write-empty-respected\t'a Write chunk without segments asks for its result inline, and comes back without segments'
reply-chunk-echo\t'the Reply chunk of a call comes back in the reply, with the same segments, handles and offsets'
credit-exceeded\t'the calls in flight never exceed the last grant'
credit-initial\t'only one call is sent before the first reply'
reverse-credit\t'calls in the reverse direction are limited by their own credits, not by those of the forward direction'
inline-exceeded\t'a Send fits the receiver\'s inline threshold: 1024 octets, or what RFC 8797 private data agreed on'
read-length\t'a Read chunk is as long as its item, with or without the padding'
read-roundup\t'a Read chunk leaves out the padding of its item'
write-roundup\t'the returned length of a Write chunk is that of its item, without padding, and no padding is written'
write-unwritten\t'every octet of the length returned for a Write chunk or the Reply chunk was written before the reply'
write-ignored\t'a DDP-eligible result goes into the Write chunk that was provided for it'
ddp-not-eligible\t'only items that the upper-layer binding names are reduced'
gss-reduced\t'nothing is reduced under RPCSEC_GSS integrity or privacy'
read-not-pulled\t'if a call succeeds, its responder has read every octet of its Read chunks, except padding'
invalidate-foreign\t'Send With Invalidate is used only for replies, names a handle of the call, and only if both ends have announced support'
reply-chunk-missing\t'a call that may have a long reply has a Reply chunk; without one, ERR_CHUNK may be the only answer'
error-echo\t'RDMA_ERROR has the xid and the version of the request that it answers'
rdma-read-bounds\t'an RDMA Read stays inside a segment that is advertised and still valid'
rdma-write-bounds\t'an RDMA Write stays inside a segment that is advertised and still valid'
rdma-write-after-reply\t'there is no RDMA Write to a chunk after its reply was sent'
handle-shared\t'only one call in flight advertises a handle'
reply-unexpected\t'a reply or an error matches a call that is still waiting'
reverse-version\t'rdma_vers is the same in both directions of a connection'
v2-version-changed\t'a connection on which both ends have sent messages of version 2 keeps that version'
pull-not-notified\t'once a reply was read from a responder-provided Read chunk, RDMA_DONE follows'
reply-not-ready\t'a requester has a Receive posted for each reply that it expects'
answer\t'a responder refuses a request that it cannot read with the error that is due, or drops it if none is'
private-data-version\t'private data has version 1, 8 octets, and no unknown flag'
private-data-absent\t'each end sends private data'
v2-reserved-flag\t'rdma_flags has no bits without a meaning (drafts -00 to -02)'
v2-response-flag\t'RDMA2_F_RESPONSE is set in replies and errors, and not in calls (drafts -00 to -02)'
v2-more-type\t'RDMA2_F_MORE is set only in RDMA2_MSG and RDMA2_CONNPROP (drafts -00 to -02)'
v2-more-sequence\t'a message with RDMA2_F_MORE is followed by one with the same rdma_xid, rdma_htype and direction (drafts -00 to -02)'
v2-more-chunks\t'a message with RDMA2_F_MORE has no chunks (drafts -00 to -02)'
v2-tpmore\t'RDMA2_F_TPMORE is set in every RDMA2_CONNPROP except the last, and nowhere else (drafts -01, -02)'
v2-credit-zero\t'the low 16 bits of rdma_credit are not 0 (drafts -00 to -02)'
v2-first-message\t'the first message of a client has at most 1024 octets'
v2-inv-handle\t'rdma_inv_handle of a call is 0 or a handle in its header, and its reply invalidates no other'
v2-property\t'the value of a transport property has the length of its type'
v2-continuation\t'a _MIDDLE type is followed by the same type or by its last type, and rdma_remaining counts down (drafts -03 to -07)'
v2-htype\t'rdma_htype is a header type of the wire format in use'
v2-grant-xid\t'RDMA2_GRANT has rdma_xid 0 (drafts -03 to -07)'
v2-trailing\t'nothing follows a header without a Payload stream'
v2-xid-mismatch\t'rdma_xid equals the XID of the RPC message'
v2-no-payload\t'a header with a Payload stream is followed by octets of it; RDMA2_NOMSG with an XID has a chunk that holds the Payload stream'
v2-external\t'RDMA2_CALL_EXTERNAL has a Call chunk, RDMA2_REPLY_EXTERNAL a Reply chunk; only the Call chunk is at Position 0 (drafts -03 to -07)'
v2-read-order\t'Positions are multiples of four and do not decrease'
v2-direction\t'the header of a Call carries a Call, the header of a Reply a Reply (drafts -03 to -07)'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l parquet -d 'Print nothing, and write a table of the dataset in DIR: zstd-compressed Parquet files, by capture and hour, with the fields of --json as columns. A table that is there already is left alone. Only if the program was built with the feature parquet' -r -F
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -s j -l jobs -d 'With --separate, read this many files at the same time; by default, as many as there are processors' -r
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l failed -d 'Show only RPCs that ended with an error. A referral to another server (NFS4ERR_MOVED) is none'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l verify-crc -d 'Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a wrong CRC are counted even without this)'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l list -d 'List all rules; reads no file'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l json -d 'Print one JSON object per line: findings, then the outcome for each rule, then a summary'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -l separate -d 'Read each FILE as a capture of its own, several at the same time. Their output comes in the order of the files, each below its name; JSON objects have the name in "capture_file". A file that cannot be read does not stop the others, and the exit status is the greatest one'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand header" -l v2-family -d 'Wire format of version 2: a for drafts -00 to -02, b for -03 to -07' -r -f -a "a\t''
b\t''"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand header" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand header" -l json -d 'Print one JSON object'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand header" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand header" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand schema" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand schema" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand completions" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand completions" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand man" -l color -d 'When to use colour' -r -f -a "auto\t'If the output is a terminal and NO_COLOR is not set'
always\t'Always'
never\t'Never'"
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand man" -s q -l quiet -d 'Print only errors to standard error'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "diagnose" -d 'Print what makes RPCs wait, whose it is, and what the capture cannot show'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "decode" -d 'Print the messages, one line each'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "transactions" -d 'Print the RPCs, one line each: call, reply, and the data that RDMA moved'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "slow" -d 'Print the slowest RPCs, and where their time went'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "explain" -d 'Print one RPC with all that is known of it: what its ends sent each other, and where its time went'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "pending" -d 'Print the calls without a reply, the oldest first, and who owes what'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "events" -d 'Print what was sent again, and the other signs that packets were lost, one line each'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "top" -d 'Count RPCs, octets and latencies by client, operation, file and the like'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "export" -d 'Write the RPCs to a capture file as RPC over TCP'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "annotate" -d 'Write the frames to a pcapng file, with comments on what they carry and which rules they break'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "anonymize" -d 'Write the frames to a capture file without names, addresses and data, to share it'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "trace" -d 'Write the RPCs as trace events, for Perfetto and speedscope'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "report" -d 'Write a report on a capture: one HTML file, for a ticket'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "view" -d 'Write the page that explores captures: one HTML file, with the captures inside'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "stats" -d 'Count connections, messages, chunks, credits, retransmissions and latencies'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "compare" -d 'Compare two captures: what fails, is sent again or is slower now, and which rules are broken now'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "check" -d 'Report which rules of RPC-over-RDMA the messages and RDMA operations break'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "header" -d 'Decode one Send from a hex dump, and report what is wrong with it'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "schema" -d 'Print the JSON Schema of the records that --json prints'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "completions" -d 'Print a completion script for a shell'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "man" -d 'Print the manual page of the program or of one command'
complete -c rpcrdma -n "__fish_rpcrdma_using_subcommand help; and not __fish_seen_subcommand_from diagnose decode transactions slow explain pending events top export annotate anonymize trace report view stats compare check header schema completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
