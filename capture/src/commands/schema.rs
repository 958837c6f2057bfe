//! `schema`: what the records are that `--json` prints.

use clap::Args;
use clap::builder::PossibleValuesParser;
use rpcrdma_answers::schema;

use crate::failure::Failure;
use crate::output;

#[derive(Args, Debug)]
pub(super) struct SchemaArguments {
    /// The type of record; without it, all of them
    #[arg(value_name = "TYPE", value_parser = PossibleValuesParser::new(schema::types()))]
    r#type: Option<String>,
}

pub(super) fn run(arguments: &SchemaArguments) -> Result<u8, Failure> {
    let schema = arguments.r#type.as_deref().map_or_else(|| Some(schema::of_all()), schema::of_type);
    let mut out = serde_json::to_vec_pretty(&schema).map_err(|error| Failure::Output(error.into()))?;
    out.push(b'\n');
    output::write(&out)
}
