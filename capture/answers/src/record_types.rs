//! The types of records and their names.

use crate::compare::{ComparedOperation, ComparedRule, ComparedTotal};
use crate::connections::{AddressMoveObject, ConnectionObject};
use crate::diagnosis::Diagnosis;
use crate::events::{LostBetweenObject, RecoveredObject};
use crate::explain::ExplainedObject;
use crate::findings::{FindingObject, RuleTotals};
use crate::messages::{HeaderObject, MessageObject, TerminateObject};
use crate::pending::{PendingObject, PromiseObject};
use crate::record::JsonRecord;
use crate::stats::{IntervalStatistics, Statistics};
use crate::summary::{CapturesSummary, CommandSummary};
use crate::top::record::TopObject;
use crate::transactions::TransactionObject;

/// Gives each type a name, and lists all types.
macro_rules! record_types {
    ($($name:literal: $record:ty,)*) => {
        $(impl JsonRecord for $record {
            const TYPE: &'static str = $name;
        })*

        /// The names of all types of records.
        pub(super) const NAMES: &[&str] = &[$($name),*];

        /// Adds the schemas of all types as definitions, and returns references to the definitions.
        #[cfg(feature = "schema")]
        pub(super) fn list_schemas(generator: &mut schemars::SchemaGenerator) -> Vec<schemars::Schema> {
            vec![$(generator.subschema_for::<crate::record::RecordObject<$record>>()),*]
        }
    };
}

record_types! {
    "message": MessageObject<'_>,
    "terminate": TerminateObject<'_>,
    "transaction": TransactionObject<'_>,
    "pending": PendingObject<'_>,
    "promise": PromiseObject<'_>,
    "event": RecoveredObject<'_>,
    "lost_between": LostBetweenObject,
    "connection": ConnectionObject<'_>,
    "address_move": AddressMoveObject<'_>,
    "explain": ExplainedObject<'_>,
    "top": TopObject<'_>,
    "diagnosis": Diagnosis,
    "stats": Statistics,
    "interval": IntervalStatistics,
    "compared_total": ComparedTotal,
    "compared_operation": ComparedOperation,
    "compared_rule": ComparedRule,
    "finding": FindingObject<'_>,
    "rule": RuleTotals,
    "header": HeaderObject<'_>,
    "summary": CommandSummary,
    "captures": CapturesSummary,
}
