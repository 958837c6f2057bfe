//! Schemas of the records in the answers to the page: references to the schemas of the dissector.

use schemars::{Schema, SchemaGenerator, json_schema};

/// Schema of the record of a finding.
pub(crate) fn finding(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "$ref": "#/$defs/finding" })
}

/// Schemas of the records of findings.
pub(crate) fn findings(generator: &mut SchemaGenerator) -> Schema {
    let finding = finding(generator);
    json_schema!({ "type": "array", "items": finding })
}

/// Schema of the record of an RPC.
pub(crate) fn explain(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "$ref": "#/$defs/explain" })
}

/// Schema of the record of a diagnosis, which the page does not read.
pub(crate) fn unread(_: &mut SchemaGenerator) -> Schema {
    Schema::from(true)
}
