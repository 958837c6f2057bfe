//! The few forms of XDR (RFC 4506) that the NFS protocols use, and the rows of the protocols' tables.
//!
//! The tables keep only the facts needed to step over an item: the number of octets, and whether a peer may move the
//! item out of the Payload stream. The depth of the tables is fixed, so stepping through an item needs a bounded amount
//! of stack.

use super::operation::{CompoundRole, DelegationConflict, FilehandleStep, OperationCode, OperationTraits};
use super::walk::Mark;

/// Items that follow one another.
pub(super) type Xdr = &'static [Item];

/// One thing in an XDR stream.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    /// This many octets, a multiple of four: integers, enumerations, fixed-length opaque data (sections 4.1 to 4.9).
    Fixed(usize),
    /// An item that says what the arguments are about.
    Marked(Mark, &'static Item),
    /// A word that says nothing about people, files or machines.
    Number,
    /// A word: the program number of a client's callbacks.
    CallbackProgram,
    /// Variable-length opaque data or a string (sections 4.10 and 4.11).
    Opaque,
    /// An [`Item::Opaque`] that is DDP-eligible (RFC 8267 sections 4 and 6.1): file data.
    Data,
    /// The same for the text of a link.
    LinkText,
    /// A variable-length array of words that say nothing about people, files or machines: `bitmap4`, statuses, flavors.
    Words,
    /// A variable-length array (section 4.13).
    Array(Xdr),
    /// Optional-data (section 4.19), a union over a bool with one void arm, or an array of at most one.
    Optional(Xdr),
    /// A chain of optional-data: each element is followed by the next one.
    List(Xdr),
    /// A discriminated union (section 4.15): the arms, and the default arm if there is one.
    Union(&'static [Arm], Option<Xdr>),
    /// A structure (section 4.14).
    Structure(Xdr),
    /// Operations of a COMPOUND (RFC 7530 section 15.2.1), counted, each begun by the operation's number.
    Operations(&'static OperationTable),
    /// Results of the operations of a COMPOUND (RFC 7530 section 15.2.2).
    OperationResults(&'static OperationTable),
}

/// An offset in a file.
pub(super) const OFFSET: Item = Item::Marked(Mark::Offset, &HYPER);
/// A count of octets of a file.
pub(super) const COUNT: Item = Item::Marked(Mark::Count, &WORD);
/// The count of octets in the results of WRITE.
pub(super) const WRITTEN: Item = Item::Marked(Mark::Written, &Item::Number);
/// `stable_how`, or `committed`.
pub(super) const STABLE: Item = Item::Marked(Mark::Stable, &Item::Number);
/// Maximum length of a listing in octets.
pub(super) const LISTING: Item = Item::Marked(Mark::Listing, &Item::Number);
/// Name of a file in a directory.
pub(super) const NAME: Item = Item::Marked(Mark::Name, &Item::Opaque);

/// An integer, an enumeration, a bool.
pub(super) const WORD: Item = Item::Fixed(4);
/// A bool that decides nothing.
pub(super) const BOOL: Item = WORD;
/// A hyper integer.
pub(super) const HYPER: Item = Item::Fixed(8);

/// An arm of a union: the value of the discriminant, and what then follows.
pub(super) type Arm = (u32, Xdr);

/// One procedure of a program, or one operation of a COMPOUND.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) code: u32,
    pub(super) name: &'static str,
    pub(super) arguments: Xdr,
    pub(super) results: Results,
    pub(super) traits: OperationTraits,
}

/// The operations of COMPOUND or of CB_COMPOUND.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperationTable {
    pub(super) rows: &'static [Row],
    /// Makes the code of an operation from the number.
    pub(super) code: fn(u32) -> OperationCode,
}

/// Results of a procedure or an operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Results {
    /// Always the same; there is no status.
    Plain(Xdr),
    /// A status word, then the items of that status.
    Status {
        /// After the status 0.
        ok: Xdr,
        /// After an error with a separate arm.
        errors: &'static [Arm],
        /// After any other error.
        otherwise: Xdr,
    },
}

impl Results {
    /// Returns true if a result here may be moved to a Write chunk. No protocol has such an item deeper than this.
    pub(super) fn may_be_reduced(&self) -> bool {
        self.items().iter().any(|item| matches!(item, Item::Data | Item::LinkText))
    }

    /// Returns true if a result here may be long, may not be reduced, and is not limited by the arguments.
    pub(super) fn is_unlimited(&self) -> bool {
        self.items().iter().any(|item| matches!(item, Item::Marked(Mark::Unlimited, _)))
    }

    /// Returns true if these are the results of a COMPOUND.
    pub(super) fn are_of_operations(&self) -> bool {
        self.items().iter().any(|item| matches!(item, Item::OperationResults(_)))
    }

    /// Returns the items that follow if all went well.
    const fn items(&self) -> Xdr {
        let (Self::Plain(items) | Self::Status { ok: items, .. }) = self;
        items
    }
}

/// A row of a table.
pub(super) const fn row(code: u32, name: &'static str, arguments: Xdr, results: Results) -> Row {
    Row { code, name, arguments, results, traits: OperationTraits::NONE }
}

impl Row {
    pub(super) const fn role(mut self, role: CompoundRole) -> Self {
        self.traits.role = role;
        self
    }

    pub(super) const fn filehandle(mut self, step: FilehandleStep) -> Self {
        self.traits.filehandle = step;
        self
    }

    pub(super) const fn conflict(mut self, conflict: DelegationConflict) -> Self {
        self.traits.conflict = Some(conflict);
        self
    }

    pub(super) const fn flushes(mut self) -> Self {
        self.traits.flushes = true;
        self
    }
}

/// A table of operations, and a constant of [`OperationCode`] for each: number and name are written once.
macro_rules! operations {
    (
        $table:ident, $kind:ident,
        $(row($number:literal, $name:ident, $arguments:expr, $results:expr $(,)?) $(.$property:ident($($value:expr)?))*),* $(,)?
    ) => {
        impl OperationCode {
            $(
                #[doc = concat!("`OP_", stringify!($name), "`.")]
                pub const $name: Self = Self::$kind($number);
            )*
        }

        pub(super) const $table: &OperationTable = &OperationTable {
            rows: &[$(row($number, stringify!($name), $arguments, $results)$(.$property($($value)?))*),*],
            code: OperationCode::$kind,
        };
    };
}

/// A table of the procedures of a version of a program, and a constant of [`Procedure`](super::Procedure) for each.
macro_rules! procedures {
    (
        $table:ident, ($program:expr, $version:literal, $prefix:literal),
        $(row($number:literal, $name:ident, $arguments:expr, $results:expr $(,)?) $(.$property:ident($($value:expr)?))*),* $(,)?
    ) => {
        $(
            #[doc = concat!($prefix, stringify!($name), ".")]
            pub const $name: Procedure = Procedure { program: $program, version: $version, procedure: $number };
        )*

        pub(super) const $table: &[Row] =
            &[$(row($number, concat!($prefix, stringify!($name)), $arguments, $results)$(.$property($($value)?))*),*];
    };
}

pub(super) use {operations, procedures};

/// Results that have no status.
pub(super) const fn plain(items: Xdr) -> Results {
    Results::Plain(items)
}

/// Returns results that begin with a status. After status 0, `items` follow.
pub(super) const fn ok(items: Xdr) -> Results {
    Results::Status { ok: items, errors: &[], otherwise: &[] }
}

/// Returns results that begin with a status. After status 0, `items` follow; after any other, `otherwise`.
pub(super) const fn ok_else(items: Xdr, otherwise: Xdr) -> Results {
    Results::Status { ok: items, errors: &[], otherwise }
}

/// Returns results that begin with a status. After status 0, `items` follow; some errors say more.
pub(super) const fn ok_or(items: Xdr, errors: &'static [Arm]) -> Results {
    Results::Status { ok: items, errors, otherwise: &[] }
}

/// The row of a table for a number. Tables are in ascending order.
pub(super) fn find(table: &'static [Row], code: u32) -> Option<&'static Row> {
    table.get(table.binary_search_by_key(&code, |row| row.code).ok()?)
}

#[cfg(test)]
mod tests {
    use super::super::TABLES;
    use super::*;

    /// The fewest octets that items take.
    fn least(items: Xdr) -> usize {
        items.iter().map(least_of).sum()
    }

    fn least_of(item: &Item) -> usize {
        match *item {
            Item::Fixed(octets) => octets,
            Item::Marked(_, item) => least(core::slice::from_ref(item)),
            Item::Structure(items) => least(items),
            Item::Union(..)
            | Item::Number
            | Item::CallbackProgram
            | Item::Opaque
            | Item::Data
            | Item::LinkText
            | Item::Words
            | Item::Array(_) => 4,
            Item::Optional(_) | Item::List(_) | Item::Operations(_) | Item::OperationResults(_) => 4,
        }
    }

    /// Checks every item of a table row, and returns the nesting depth.
    fn check(items: Xdr) -> usize {
        items.iter().map(check_one).max().map_or(0, |depth| depth + 1)
    }

    fn check_one(item: &Item) -> usize {
        match *item {
            Item::Fixed(octets) => {
                assert!(octets > 0 && octets % 4 == 0);
                0
            }
            Item::Array(items) | Item::List(items) => {
                assert!(least(items) > 0, "a count of such items could spin");
                check(items)
            }
            Item::Optional(items) | Item::Structure(items) => check(items),
            Item::Marked(_, item) => check(core::slice::from_ref(item)),
            Item::Union(arms, otherwise) => {
                let arms = arms.iter().map(|arm| check(arm.1)).max().unwrap_or(0);
                arms.max(otherwise.map_or(0, check))
            }
            Item::Operations(table) | Item::OperationResults(table) => check_table(table.rows),
            Item::Number | Item::CallbackProgram | Item::Opaque | Item::Data | Item::LinkText | Item::Words => 0,
        }
    }

    fn check_table(table: &'static [Row]) -> usize {
        assert!(table.windows(2).all(|pair| pair[0].code < pair[1].code), "not in order: {}", table[0].name);
        let depths = table.iter().map(|row| {
            let results = match row.results {
                Results::Plain(items) => check(items),
                Results::Status { ok, errors, otherwise } => {
                    errors.iter().map(|arm| check(arm.1)).max().unwrap_or(0).max(check(ok)).max(check(otherwise))
                }
            };
            results.max(check(row.arguments))
        });
        depths.max().unwrap_or(0) + 1
    }

    #[test]
    fn every_table_is_in_order_consumes_and_is_shallow() {
        for table in TABLES {
            assert!(check_table(table) <= 12);
        }
    }

    #[test]
    fn reads_are_the_results_that_may_be_reduced() {
        fn reads(table: &'static [Row], names: &mut Vec<&'static str>) {
            for row in table {
                if row.results.may_be_reduced() {
                    names.push(row.name);
                }
                for item in row.arguments {
                    if let Item::Operations(table) = item {
                        reads(table.rows, names);
                    }
                }
            }
        }
        let mut names = Vec::new();
        for table in TABLES {
            reads(table, &mut names);
        }
        let nfs = ["NFSv2 READLINK", "NFSv2 READ", "NFSv3 READLINK", "NFSv3 READ", "READ", "READLINK"];
        assert_eq!(names, [&nfs[..], &["echo GIVE"]].concat());
    }
}
