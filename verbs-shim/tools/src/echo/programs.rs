//! The echo program's server.

use rpcrdma_verbs::{Dispatcher, ProcedureCall, Provider, Refusal, Stream};

use super::{ECHO, GIVE, GIVE_WHOLE, MAX_FILLER, PROGRAM, TAKE, TAKE_WHOLE, VERSION, pattern};
use crate::xdr::{opaque, padding, word};

/// The echo program, as a service; other programs can be added.
///
/// The buffers of a connection are reused: nothing is allocated here for a call like an earlier one.
#[must_use]
pub fn programs<V: Provider>() -> Dispatcher<'static, V> {
    PROCEDURES.into_iter().fold(Dispatcher::default(), |programs, (number, procedure)| {
        programs.with_procedure(PROGRAM, VERSION, number, move |call: &ProcedureCall<'_>, results: &mut Stream| {
            procedure(call.arguments, results).ok_or(Refusal::GarbageArguments)
        })
    })
}

const PROCEDURES: [(u32, Procedure); 5] =
    [(ECHO, echo), (TAKE, take_data), (TAKE_WHOLE, take_data), (GIVE, give_data), (GIVE_WHOLE, give_whole)];

/// Returns the function of a procedure other than NULL. `None` for an unknown number.
pub(crate) fn procedure(number: u32) -> Option<Procedure> {
    PROCEDURES.into_iter().find(|(other, _)| *other == number).map(|(_, procedure)| procedure)
}

/// Appends the results. Returns `None` for invalid arguments.
type Procedure = fn(&[u8], &mut Stream) -> Option<()>;

fn echo(mut arguments: &[u8], results: &mut Stream) -> Option<()> {
    let data = opaque(&mut arguments).filter(|_| arguments.is_empty())?;
    results.push(&u32::try_from(data.len()).ok()?.to_be_bytes());
    results.push(data);
    results.push(padding(data.len()));
    Some(())
}

fn take_data(mut arguments: &[u8], results: &mut Stream) -> Option<()> {
    opaque(&mut arguments)?;
    let data = opaque(&mut arguments).filter(|_| arguments.is_empty())?;
    results.push(&u32::try_from(data.len()).ok()?.to_be_bytes());
    results.push(&crc32fast::hash(data).to_be_bytes());
    Some(())
}

fn give_data(arguments: &[u8], results: &mut Stream) -> Option<()> {
    let data = filled(arguments, results)?;
    results.push_copy(data);
    Some(())
}

fn give_whole(arguments: &[u8], results: &mut Stream) -> Option<()> {
    let data = filled(arguments, results)?;
    results.push(data);
    results.push(padding(data.len()));
    Some(())
}

/// Returns the requested data, after appending all earlier results.
fn filled(mut arguments: &[u8], results: &mut Stream) -> Option<&'static [u8]> {
    let [seed, length, filler] = [word(&mut arguments)?, word(&mut arguments)?, word(&mut arguments)?];
    let data = pattern(u16::try_from(seed).ok()?, length).filter(|_| arguments.is_empty() && filler <= MAX_FILLER)?;
    results.push(&filler.to_be_bytes());
    results.push_zeros(filler.next_multiple_of(4) as usize);
    results.push(&length.to_be_bytes());
    Some(data)
}
