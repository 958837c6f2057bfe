//! The options that several commands have.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rpcrdma_answers::format::time::{ShownTimes, TimeForm};
use rpcrdma_answers::selection::Selection;
use rpcrdma_dissector::CapturePoint;
use rpcrdma_dissector::check::Implementation;
use rpcrdma_dissector::link::Address;
use rpcrdma_dissector::values::{Moment, address, duration, xid, zone_alone};

/// Use of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// If the output is a terminal and NO_COLOR is not set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Input, and the part of it that is shown.
#[derive(Args, Clone, Debug)]
pub(crate) struct InputArguments {
    /// Capture files (pcap or pcapng, plain, gzip or Zstandard); - is standard input. Several files are read as one
    /// capture, in the order of their first frames
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Show only this connection, or these (1,2); may be repeated
    #[arg(long, value_name = "N", value_parser = connection, value_delimiter = ',')]
    pub(crate) connection: Vec<u32>,
    /// Show only this rdma_xid (0x5a7a4583, or decimal), or these (1,2); may be repeated
    #[arg(long, value_name = "X", value_parser = xid, value_delimiter = ',')]
    pub(crate) xid: Vec<u32>,
    /// Show what was under way at this time or later: RPCs that had not ended, messages since then. TIME is seconds after the first frame (+12.5), a time of day on the day of the first
    /// frame (10:00), a date and time (2025-11-21T00:00:00+02:00), or seconds since 1970 (1763683200.5). UTC, unless it
    /// has a zone
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<Moment>,
    /// Show what was under way at this time or earlier
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<Moment>,
    /// Show only RPCs of this client: the end that calls, except for callbacks. If the capture does not tell client from
    /// server, either end matches. Several are separated by commas; may be repeated
    #[arg(long, value_name = "ADDRESS", value_parser = address, value_delimiter = ',')]
    pub(crate) client: Vec<Address>,
    /// Show only RPCs of this server. Several are separated by commas; may be repeated
    #[arg(long, value_name = "ADDRESS", value_parser = address, value_delimiter = ',')]
    pub(crate) server: Vec<Address>,
    /// Show only this procedure, or COMPOUNDs with this operation (READ), or one of these (READ,WRITE); may be repeated.
    /// Messages whose procedure is unknown are omitted
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) op: Vec<String>,
    /// Show only RPCs that ended with this: the name or number of an NFS status (NFS4ERR_NOENT), an error of RPC or
    /// RPC-over-RDMA (ERR_CHUNK), or SUCCESS; or with one of these (NFS4ERR_DELAY,NFS4ERR_GRACE). May be repeated
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    pub(crate) status: Vec<String>,
    /// Show only RPCs about the file of this name or path, as far as the capture shows names of files; may be repeated. If
    /// several files have the name, "NAME in FOLDER" is one of them, as `top --by name` prints it
    #[arg(long, value_name = "NAME")]
    pub(crate) file: Vec<String>,
    /// Show only RPCs of this user: a user ID of AUTH_SYS, the name of a machine, or a user as `top --by user` prints it; may
    /// be repeated
    #[arg(long, value_name = "USER")]
    pub(crate) user: Vec<String>,
    /// Show only the RPC that this frame is part of, and those in flight at this frame; several are separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) frame: Vec<u64>,
    /// Show only RPCs that ended with an error. A referral to another server (NFS4ERR_MOVED) is none
    #[arg(long)]
    pub(crate) failed: bool,
    /// Show only RPCs that took this time or longer, and what belongs to them (50ms; also ns, us, s, m and h)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) slower_than: Option<u64>,
    /// Also treat this port as RPC-over-RDMA, besides 20049; may be repeated
    #[arg(long, value_name = "P", value_parser = port)]
    pub(crate) port: Vec<u16>,
    /// Place of the capture: it tells which phases of an RPC contain time in the network. By default, it is
    /// inferred for each connection, if one of its ends takes much longer to acknowledge than the other
    #[arg(long, value_name = "PLACE")]
    pub(crate) captured_at: Option<CaptureSide>,
    /// Verify the ICRC and VCRC of every packet; count and ignore packets, and iWARP FPDUs, that fail. (FPDUs with a
    /// wrong CRC are counted even without this)
    #[arg(long)]
    pub(crate) verify_crc: bool,
    /// Wire format of version 2: a for drafts -00 to -02, b for -03 to -07. By default, the first message that can be
    /// in only one of them decides for its connection
    #[arg(long, value_name = "FORMAT")]
    pub(crate) v2_family: Option<Family>,
}

/// An implementation whose deviations are known.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum KnownSet {
    /// The NFS server of the Linux kernel
    Linux,
}

impl From<KnownSet> for Implementation {
    fn from(known: KnownSet) -> Self {
        match known {
            KnownSet::Linux => Self::LinuxNfsd,
        }
    }
}

/// Form and zone of times.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct TimeArguments {
    /// Form of times: seconds since the first frame, the time of day, or both. JSON has nanoseconds since 1970
    #[arg(long, value_name = "FORM", default_value = "since")]
    time: TimeChoice,
    /// The zone of times of day, ahead of UTC (+02:00)
    #[arg(long, value_name = "ZONE", default_value = "Z", value_parser = zone_alone, allow_hyphen_values = true)]
    zone: i64,
}

/// A form of times.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum TimeChoice {
    /// Seconds since the first frame
    Since,
    /// The time of day; the date too, if it is another than that of the first frame
    Clock,
    /// Both
    Both,
}

impl TimeArguments {
    /// Form and zone of the times.
    pub(crate) const fn shown(self) -> ShownTimes {
        let form = match self.time {
            TimeChoice::Since => TimeForm::Since,
            TimeChoice::Clock => TimeForm::Clock,
            TimeChoice::Both => TimeForm::Both,
        };
        ShownTimes::new(form, self.zone)
    }
}

impl InputArguments {
    /// The selection that the options describe.
    pub(crate) fn selection(&self) -> Selection {
        let Self { connection, xid, since, until, client, server, op, status, .. } = self.clone();
        let mut selection = Selection::default();
        (selection.connections, selection.xids) = (connection, xid);
        (selection.since, selection.until) = (since, until);
        (selection.clients, selection.servers) = (client, server);
        (selection.operations, selection.statuses) = (op, status);
        (selection.files, selection.frames) = (self.file.clone(), self.frame.clone());
        selection.users = self.user.clone();
        (selection.slower_than, selection.failed) = (self.slower_than, self.failed);
        selection
    }

    /// The name of the capture: that of its file, or of the first of several.
    pub(crate) fn name(&self) -> String {
        let name = |file: &PathBuf| file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        match &self.files[..] {
            [file] if file == Path::new("-") => "standard input".to_owned(),
            [file] => name(file),
            [first, rest @ ..] => format!("{} and {} more", name(first), rest.len()),
            [] => String::new(),
        }
    }
}

/// Place of the capture.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CaptureSide {
    /// At the client
    Client,
    /// At the server
    Server,
    /// With a network on either side
    Between,
}

impl From<CaptureSide> for CapturePoint {
    fn from(place: CaptureSide) -> Self {
        match place {
            CaptureSide::Client => Self::Client,
            CaptureSide::Server => Self::Server,
            CaptureSide::Between => Self::Between,
        }
    }
}

/// A wire format of version 2.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Family {
    A,
    B,
}

impl From<Family> for rpcrdma::v2::Family {
    fn from(family: Family) -> Self {
        match family {
            Family::A => Self::A,
            Family::B => Self::B,
        }
    }
}

fn connection(text: &str) -> Result<u32, &'static str> {
    text.parse().map_err(|_| "not the number of a connection")
}

fn port(text: &str) -> Result<u16, &'static str> {
    text.parse().map_err(|_| "not a port, 0 to 65535")
}
