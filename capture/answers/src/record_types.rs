//! The types of records and their names.

use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::compare::{ComparedOperation, ComparedRule, ComparedTotal};
use crate::connections::{AddressMoveObject, ConnectionObject};
use crate::diagnosis::Diagnosis;
use crate::events::{LostBetweenObject, RecoveredObject};
use crate::explain::ExplainedObject;
use crate::findings::{FindingObject, RuleTotals};
use crate::messages::{HeaderObject, MessageObject, TerminateObject};
use crate::pending::{PendingObject, PromiseObject};
use crate::record::JsonRecord;
use crate::record::RecordObject;
use crate::stats::{IntervalStatistics, Statistics};
use crate::summary::{CapturesSummary, CommandSummary};
use crate::top::record::TopObject;
use crate::transactions::TransactionObject;

/// A type of record.
pub(super) struct RecordType {
    pub(super) name: &'static str,
    /// Adds the schema of the type as a definition, and returns a reference to the definition.
    pub(super) reference: fn(&mut SchemaGenerator) -> Schema,
    /// The schema itself.
    pub(super) whole: fn(&mut SchemaGenerator) -> Schema,
}

impl RecordType {
    pub(super) const fn from_type<T: JsonRecord + JsonSchema>() -> Self {
        Self {
            name: T::TYPE,
            reference: SchemaGenerator::subschema_for::<RecordObject<T>>,
            whole: RecordObject::<T>::json_schema,
        }
    }
}

/// Gives each type a name, and lists all types with schemas.
macro_rules! record_types {
    ($($name:literal: $record:ty,)*) => {
        $(impl JsonRecord for $record {
            const TYPE: &'static str = $name;
        })*

        /// All types of records.
        pub(super) const TYPES: &[RecordType] = &[$(RecordType::from_type::<$record>()),*];
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
