//! Filters in the words of the command line: `op=READ client=192.0.2.2 slower=50ms status=NFS4ERR_DELAY`.
//!
//! Words are joined by "and"; the same word several times, or values with commas, by "or", as options of the command line are.

use dissector::Time;
use dissector::output::diagnosis::Cause;
use dissector::values::{Moment, duration, xid};

use crate::names::{Name, Names};
use crate::parts::{Ends, Part};
use crate::row::Row;

/// Words without a value, with what they select.
pub(crate) const FLAGS: [(&str, &str); 3] = [
    ("failed", "RPCs with an error"),
    ("waiting", "calls without a reply"),
    ("resent", "RPCs with packets sent again"),
];

/// Words with a value, and the option of the command line that each is.
pub(crate) const KEYS: [(&str, &str); 12] = [
    ("op", "--op"),
    ("client", "--client"),
    ("server", "--server"),
    ("slower", "--slower-than"),
    ("status", "--status"),
    ("connection", "--connection"),
    ("xid", "--xid"),
    ("since", "--since"),
    ("until", "--until"),
    // The command line has no option for these three.
    ("file", ""),
    ("frame", ""),
    ("cause", ""),
];

/// Condition that a row meets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    op: Vec<String>,
    client: Vec<String>,
    server: Vec<String>,
    status: Vec<String>,
    file: Vec<String>,
    connection: Vec<u32>,
    xid: Vec<u32>,
    frame: Vec<u64>,
    cause: Vec<Cause>,
    slower: Option<u64>,
    since: Option<Moment>,
    until: Option<Moment>,
    is_failed: bool,
    is_waiting: bool,
    is_resent: bool,
}

/// Verdict on a part of an RPC or of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Wanted,
    Unwanted,
    /// The filter asks for properties of RPCs, and the part belongs to none in the table.
    OfNoRpc,
}

impl Filter {
    /// Reads words; an error names the word.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut filter = Self::default();
        for word in words(text)? {
            filter.word(&word)?;
        }
        Ok(filter)
    }

    fn word(&mut self, word: &str) -> Result<(), String> {
        let Some((key, value)) = word.split_once('=') else {
            let flag = match word {
                "failed" => &mut self.is_failed,
                "waiting" => &mut self.is_waiting,
                "resent" => &mut self.is_resent,
                _ => {
                    return Err(format!(
                        "'{word}' is no filter: write op=READ, slower=50ms and so on, failed, waiting or resent"
                    ));
                }
            };
            *flag = true;
            return Ok(());
        };
        let wrong = |reason: &str| format!("{key}={value}: {reason}");
        match key.trim_start_matches("--") {
            "op" => self.op.extend(values(value)),
            "client" => self.client.extend(values(value)),
            "server" => self.server.extend(values(value)),
            "status" => self.status.extend(values(value)),
            "file" => self.file.push(value.to_owned()),
            "connection" => self.connection.extend(numbers(value, |text| text.parse::<u32>().ok()).map_err(wrong)?),
            "xid" => self.xid.extend(numbers(value, |text| xid(text).ok()).map_err(wrong)?),
            "frame" => self.frame.extend(numbers(value, |text| text.parse::<u64>().ok()).map_err(wrong)?),
            "cause" => {
                let causes: Result<Vec<_>, _> =
                    values(value).map(|name| Cause::of_name(&name).ok_or("no such cause")).collect();
                self.cause.extend(causes.map_err(wrong)?);
            }
            "slower" | "slower-than" => self.slower = Some(duration(value).map_err(wrong)?),
            "since" => self.since = Some(value.parse().map_err(wrong)?),
            "until" => self.until = Some(value.parse().map_err(wrong)?),
            _ => return Err(format!("'{key}' is no filter")),
        }
        Ok(())
    }

    /// Refuses a time that cannot be meant, as the command line does: one without a date that is before the first frame.
    pub(crate) fn refuse_astray(&self, first: u64) -> Result<(), String> {
        for (name, moment, what) in [("since", self.since, "all"), ("until", self.until, "nothing")] {
            if moment.is_some_and(|moment| moment.is_astray(Time(first))) {
                return Err(format!(
                    "{name}: this time is before the first frame and selects {what}; write seconds after the first frame as +12.5, \
                     and a time on another day as 2025-11-21T10:00"
                ));
            }
        }
        Ok(())
    }

    /// The selected time in nanoseconds since the first frame; `None` where it has no end.
    pub(crate) fn times(&self, first: u64) -> [Option<u64>; 2] {
        [self.since, self.until].map(|moment| moment.map(|moment| moment.at(Time(first)).0.saturating_sub(first)))
    }

    /// The same at any time.
    pub(crate) fn of_any_time(&self) -> Self {
        Self { since: None, until: None, ..self.clone() }
    }

    /// True if the filter needs the RPC of a part to judge the part.
    pub(crate) fn needs_rpcs(&self) -> bool {
        self.asks_for_rpcs() || !self.client.is_empty() || !self.server.is_empty()
    }

    /// True if the filter asks for a property that only RPCs have.
    fn asks_for_rpcs(&self) -> bool {
        let Self { op, status, file, frame, cause, slower, is_failed, is_waiting, is_resent, .. } = self;
        let is_any = !(op.is_empty() && status.is_empty() && file.is_empty() && frame.is_empty() && cause.is_empty());
        is_any || slower.is_some() || *is_failed || *is_waiting || *is_resent
    }

    /// Judges a part. `row` is the RPC of the part, if the table has it.
    pub(crate) fn judge(&self, part: &Part, row: Option<&Row>, names: &Names, first: u64) -> Verdict {
        let is_of_xid = self.xid.is_empty() || part.xid.is_some_and(|xid| self.xid.contains(&xid));
        let is_wanted = match row {
            _ if !(is_of_xid && is_any(&self.connection, &part.connection) && self.is_at(part.time, first)) => false,
            _ if !self.needs_rpcs() => true,
            Some(row) => self.matches(row, names, first),
            None if !self.wants_ends(part.ends, names) => false,
            None if self.asks_for_rpcs() => return Verdict::OfNoRpc,
            None => true,
        };
        if is_wanted { Verdict::Wanted } else { Verdict::Unwanted }
    }

    fn wants_ends(&self, ends: Ends, names: &Names) -> bool {
        let is_any = |wanted: &[String], ends: &[Name]| {
            wanted.is_empty() || ends.iter().any(|end| wanted.iter().any(|name| name == names.text(*end)))
        };
        match ends {
            Ends::Known { client, server } => is_any(&self.client, &[client]) && is_any(&self.server, &[server]),
            Ends::Either(ends) => is_any(&self.client, &ends) && is_any(&self.server, &ends),
        }
    }

    fn is_at(&self, time: u64, first: u64) -> bool {
        let (first, time) = (Time(first), Time(time));
        self.since.is_none_or(|since| time >= since.at(first)) && self.until.is_none_or(|until| time <= until.at(first))
    }

    /// True if a row passes. `first` is the time of the first frame.
    pub(crate) fn matches(&self, row: &Row, names: &Names, first: u64) -> bool {
        self.is_at(row.time, first)
            && self.slower.is_none_or(|least| row.latency.is_some_and(|latency| latency >= least))
            && is_any(&self.connection, &row.kind.connection)
            && is_any(&self.xid, &row.xid)
            && (self.frame.is_empty() || self.frame.iter().any(|frame| spans(row, *frame)))
            && (!self.is_failed || row.kind.has_failed)
            && (!self.is_waiting || row.is_waiting())
            && (!self.is_resent || row.resent > 0 || row.recovery.total() > 0)
            && (self.cause.is_empty() || self.cause.iter().any(|cause| row.causes.contains(*cause)))
            && self.matches_names(row, names)
    }

    fn matches_names(&self, row: &Row, names: &Names) -> bool {
        let is_named = |wanted: &[String], own: &str| wanted.is_empty() || wanted.iter().any(|name| name == own);
        is_named(&self.client, names.text(row.kind.client))
            && is_named(&self.server, names.text(row.kind.server))
            && is_named(&self.file, names.text(row.file))
            && (self.op.is_empty() || self.op.iter().any(|name| calls(row, name, names)))
            && (self.status.is_empty() || self.status.iter().any(|name| ended_with(row, name, names)))
    }
}

/// True if an RPC calls a procedure or an operation of this name, with or without the name of the program.
fn calls(row: &Row, name: &str, names: &Names) -> bool {
    let is_named = |own: &str| {
        own.eq_ignore_ascii_case(name) || own.rsplit(' ').next().is_some_and(|own| own.eq_ignore_ascii_case(name))
    };
    is_named(names.text(row.kind.procedure))
        || is_named(names.text(row.kind.operation))
        || names.text(row.kind.operations).split(' ').any(|own| own.eq_ignore_ascii_case(name))
}

/// True if an RPC ended with a status of this name or number.
fn ended_with(row: &Row, name: &str, names: &Names) -> bool {
    let own = names.text(row.kind.status);
    let is_number = row.kind.status_number.is_some_and(|own| name.parse() == Ok(own));
    let is_success = row.kind.status_number == Some(0) && name.eq_ignore_ascii_case("SUCCESS");
    (!own.is_empty() && own.eq_ignore_ascii_case(name)) || is_number || is_success
}

/// True if a frame is between the call and the reply.
pub(crate) fn spans(row: &Row, frame: u64) -> bool {
    let first = row.call.or(row.reply).unwrap_or(u64::MAX);
    (first..=row.reply.unwrap_or(first)).contains(&frame)
}

fn is_any<T: PartialEq>(wanted: &[T], own: &T) -> bool {
    wanted.is_empty() || wanted.contains(own)
}

/// Words, which spaces separate; quotation marks keep spaces in a value. Between them, `\"` is a quotation mark and `\\` a backslash.
fn words(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if is_quoted => word.push(letters.next_if(|next| matches!(next, '"' | '\\')).unwrap_or(letter)),
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.extend((!word.is_empty()).then(|| core::mem::take(&mut word))),
            letter => word.push(letter),
        }
    }
    if is_quoted {
        return Err("a quotation mark is missing".to_owned());
    }
    words.extend((!word.is_empty()).then_some(word));
    Ok(words)
}

fn values(text: &str) -> impl Iterator<Item = String> {
    text.split(',').filter(|value| !value.is_empty()).map(str::to_owned)
}

fn numbers<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, &'static str> {
    text.split(',').map(|text| parse(text).ok_or("not a number")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_filter_is_named() {
        assert!(Filter::parse("op=READ slower=50ms since=+1.5 xid=0xc73d34c3,7 failed cause=loss,errors").is_ok());
        for (text, named) in [
            ("colour=red", "colour"),
            ("slower=50", "slower=50"),
            ("READ", "READ"),
            ("xid=zz", "xid=zz"),
            ("cause=moon", "cause=moon"),
            ("file=\"a", "quotation"),
        ] {
            let error = Filter::parse(text).expect_err(text);
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn quotation_marks_keep_spaces_in_a_value() {
        assert_eq!(words("op=\"NFSv4 READ\"  waiting"), Ok(vec!["op=NFSv4 READ".to_owned(), "waiting".to_owned()]));
    }

    #[test]
    fn backslashes_keep_quotation_marks_in_a_quoted_value() {
        for (text, value) in [
            (r#"file="\\\"><svg/>""#, r#"file=\"><svg/>"#),
            (r#"file="a\b \" c""#, r#"file=a\b " c"#),
            (r"file=a\\b", r"file=a\\b"),
        ] {
            assert_eq!(words(text), Ok(vec![value.to_owned()]), "{text}");
        }
        assert!(words(r#"file="a\""#).is_err());
    }

    #[test]
    fn times_are_those_of_the_command_line() {
        // 2025-11-21T09:30:00Z
        let first = 1_763_717_400_000_000_000;
        let second = 1_000_000_000;
        let times = |text: &str| Filter::parse(text).map(|filter| filter.times(first));
        assert_eq!(times("since=+12.5 until=09:31"), Ok([Some(12 * second + second / 2), Some(60 * second)]));
        assert_eq!(
            times("since=2025-11-21T10:30:01+01:00 until=\"2025-11-21 09:30:02\""),
            Ok([Some(second), Some(2 * second)])
        );
        assert_eq!(times("until=1763717403.5"), Ok([None, Some(3 * second + second / 2)]));
        assert!(times("since=soon").is_err_and(|error| error.starts_with("since=soon: not a time")));
        for (text, is_refused) in
            [("since=09:29", true), ("until=5", true), ("since=2025-11-20", false), ("since=+0", false)]
        {
            assert_eq!(Filter::parse(text).unwrap().refuse_astray(first).is_err(), is_refused, "{text}");
        }
    }
}
