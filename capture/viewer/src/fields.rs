//! The fields of a message, and the octets of each.

use std::io;

use answers::messages::tree::{self, TreeExtent};
use dissector::Message;
use serde::Serialize;

/// The most octets that are shown of a message: the whole header, unless the header is longer than that of any known peer.
const OCTETS: usize = 2048;

/// A message of an RPC.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ShownMessage {
    title: String,
    /// The first captured octets of the Send in hexadecimal digits.
    octets: String,
    /// Octets beyond these.
    octets_left_out: usize,
    fields: Vec<ShownField>,
}

/// A line of the tree that `rpcrdma explain` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ShownField {
    /// The octets of the field: the first, and the one after the last. Null for a field outside of the Send.
    octets: Option<(usize, usize)>,
    /// Number of fields that contain this field.
    depth: usize,
    name: String,
    value: String,
    /// `true` for a line that says what is wrong.
    is_fault: bool,
}

impl ShownMessage {
    pub(crate) fn new(message: &Message) -> io::Result<Self> {
        let mut lines: Vec<(Option<usize>, TreeExtent, ShownField)> = Vec::new();
        tree::lines(message, &mut |line| {
            let name = line.name.trim_start();
            let depth = (line.name.len() - name.len()) / 2;
            let is_fault = line.extent == TreeExtent::Fault;
            let (name, value) = (name.to_owned(), line.value.to_owned());
            lines.push((line.offset, line.extent, ShownField { octets: None, depth, name, value, is_fault }));
            Ok(())
        })?;
        let begins: Vec<usize> =
            lines.iter().filter(|(_, extent, _)| *extent != TreeExtent::Fault).filter_map(|(at, ..)| *at).collect();
        let end = message.octets.len();
        let fields = lines.into_iter().map(|(at, extent, field)| {
            let octets = at.map(|at| (at.min(end), after(at, extent, &begins).min(end)));
            ShownField { octets: octets.filter(|(from, until)| from < until), ..field }
        });
        let name = message.type_name().unwrap_or("a message that cannot be read");
        let shown = message.octets.get(..OCTETS).unwrap_or(&message.octets);
        Ok(Self {
            title: format!("{name} from {} in frame {}", message.from, message.stamp.frame),
            octets: shown.iter().map(|octet| format!("{octet:02x}")).collect(),
            octets_left_out: end - shown.len(),
            fields: fields.collect(),
        })
    }
}

/// Returns the end of the octets of a line that begin at an offset.
fn after(at: usize, extent: TreeExtent, begins: &[usize]) -> usize {
    match extent {
        TreeExtent::Octets(length) => at.saturating_add(length),
        TreeExtent::Next => begins.iter().copied().filter(|begin| *begin > at).min().unwrap_or(usize::MAX),
        // A word of XDR.
        TreeExtent::Fault => at.saturating_add(4),
    }
}
