//! The program `rpcrdma-gen`: writes test messages for somebody else's harness.
#![forbid(unsafe_code)]

mod arguments;
mod capture_source;
mod connections;
mod files;
mod iwarp;
mod record;
mod source;

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use rpcrdma_gen::{Base, Case, Choices};

use arguments::{Arguments, Output};

/// The program could not do what was asked.
const UNUSABLE: u8 = 2;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rpcrdma-gen: {error}");
            ExitCode::from(UNUSABLE)
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let cases = cases(arguments)?;
    let path = &arguments.output;
    match arguments.format {
        Output::Files => files::directory(path, &cases)?,
        Output::Corpus => files::corpus(path, &cases)?,
        Output::Header => std::fs::write(path, source::header(&cases))?,
        Output::Module => std::fs::write(path, source::module(&cases))?,
        Output::Capture => connections::capture(path, &cases)?,
        Output::Iwarp => iwarp::capture(path, &cases)?,
    }
    let valid = cases.iter().filter(|case| case.broken.is_empty()).count();
    let (total, broken) = (cases.len(), cases.len() - valid);
    println!("{}: {total} messages, {valid} valid, {broken} broken", path.display());
    Ok(())
}

/// The messages that were asked for.
fn cases(arguments: &Arguments) -> Result<Vec<Case>, Box<dyn Error>> {
    let (format, role) = (arguments.version.0, arguments.role.0);
    let bases = match &arguments.from {
        Some(capture) => Some(capture_source::bases(capture, format, role)?),
        None => None,
    };
    let Some(count) = arguments.count else {
        return Ok(match bases {
            Some(bases) => {
                bases.iter().flat_map(|base| [vec![base.valid()], rpcrdma_gen::all_cases(base)].concat()).collect()
            }
            None => rpcrdma_gen::named(format, role),
        });
    };
    let mut choices = Choices::of_seed(arguments.seed);
    let mut random = |bases: Option<&[Base]>| match bases.and_then(|bases| choices.one_of(bases)) {
        Some(base) => rpcrdma_gen::random_of(&mut choices, base),
        None => rpcrdma_gen::random(&mut choices, format, role),
    };
    Ok((0..count).map(|_| random(bases.as_deref())).collect())
}
