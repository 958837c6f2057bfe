//! The end that answers: the echo program, and the NULL procedure of others.

use rpcrdma::endpoint::responder::{Form, ReplyFault};
use rpcrdma::rpc::{AcceptStatus, Auth, Denial, Mismatch, ReplyBody, RpcCall};
use rpcrdma_verbs::{Provider, Request, Service, Stream};

use super::{ECHO, GIVE, GIVE_WHOLE, MAX_FILLER, PROGRAM, TAKE, TAKE_WHOLE, VERSION, opaque, padding, pattern, word};

/// The echo program, and others of which only NULL is answered. It is a [`Service`].
///
/// The buffers of a connection are used again: nothing is allocated here when a call like it came before.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    /// Number and version.
    others: Vec<(u32, u32)>,
}

/// What is to be done with a call.
enum Verdict {
    Done,
    Refuse(AcceptStatus, Option<Mismatch>),
    Deny(Denial),
}

const GARBAGE: Verdict = Verdict::Refuse(AcceptStatus::GARBAGE_ARGS, None);

impl Programs {
    /// The same, which answers NULL of a version of one more program.
    #[must_use]
    pub fn with_null(mut self, program: u32, version: u32) -> Self {
        self.others.push((program, version));
        self
    }

    /// Answers a call.
    ///
    /// # Errors
    /// As [`Request::answer`].
    pub fn answer<V: Provider>(&self, mut request: Request<V>) -> Result<Form, ReplyFault> {
        request.accept();
        let (message, reply) = request.message_and_reply();
        match self.carry_out(message, reply) {
            Verdict::Done => request.answer(),
            Verdict::Refuse(status, mismatch) => {
                request.answer_with(ReplyBody::Accepted { verifier: Auth::NONE, status, mismatch })
            }
            Verdict::Deny(denial) => request.answer_with(ReplyBody::Denied(denial)),
        }
    }

    /// Puts the results of a call into its reply, where there are any.
    fn carry_out(&self, message: &[u8], reply: &mut Stream) -> Verdict {
        // Of another version of RPC no more is known than where the version stands (RFC 5531 section 9).
        let version = message.get(8..12).map(|version| u32::from_be_bytes(version.try_into().unwrap_or_default()));
        if version.is_some_and(|version| version != RpcCall::RPC_VERSION) {
            return Verdict::Deny(Denial::RpcMismatch(Mismatch {
                low: RpcCall::RPC_VERSION,
                high: RpcCall::RPC_VERSION,
            }));
        }
        let Ok((call, arguments)) = RpcCall::decode(message) else { return GARBAGE };
        let versions = || {
            let echo = Some((PROGRAM, VERSION)).into_iter();
            echo.chain(self.others.iter().copied()).filter(|other| other.0 == call.program).map(|other| other.1)
        };
        let (Some(low), Some(high)) = (versions().min(), versions().max()) else {
            return Verdict::Refuse(AcceptStatus::PROG_UNAVAIL, None);
        };
        if versions().all(|version| version != call.version) {
            return Verdict::Refuse(AcceptStatus::PROG_MISMATCH, Some(Mismatch { low, high }));
        }
        let is_echo = (call.program, call.version) == (PROGRAM, VERSION);
        let done = match call.procedure {
            0 => Some(()),
            ECHO if is_echo => echo(arguments, reply),
            TAKE | TAKE_WHOLE if is_echo => take(arguments, reply),
            GIVE if is_echo => give(arguments, reply, true),
            GIVE_WHOLE if is_echo => give(arguments, reply, false),
            _ => return Verdict::Refuse(AcceptStatus::PROC_UNAVAIL, None),
        };
        done.map_or(GARBAGE, |()| Verdict::Done)
    }
}

fn echo(mut arguments: &[u8], reply: &mut Stream) -> Option<()> {
    let data = opaque(&mut arguments).filter(|_| arguments.is_empty())?;
    reply.push(&u32::try_from(data.len()).ok()?.to_be_bytes());
    reply.push(data);
    reply.push(padding(data.len()));
    Some(())
}

fn take(mut arguments: &[u8], reply: &mut Stream) -> Option<()> {
    opaque(&mut arguments)?;
    let data = opaque(&mut arguments).filter(|_| arguments.is_empty())?;
    reply.push(&u32::try_from(data.len()).ok()?.to_be_bytes());
    reply.push(&crc32fast::hash(data).to_be_bytes());
    Some(())
}

fn give(mut arguments: &[u8], reply: &mut Stream, reducible: bool) -> Option<()> {
    let [seed, length, filler] = [word(&mut arguments)?, word(&mut arguments)?, word(&mut arguments)?];
    let data = pattern(u16::try_from(seed).ok()?, length).filter(|_| arguments.is_empty() && filler <= MAX_FILLER)?;
    reply.push(&filler.to_be_bytes());
    reply.push_zeros(filler.next_multiple_of(4) as usize);
    reply.push(&length.to_be_bytes());
    if reducible {
        reply.push_copy(data);
    } else {
        reply.push(data);
        reply.push(padding(data.len()));
    }
    Some(())
}

impl<V: Provider> Service<V> for Programs {
    fn call(&self, request: Request<V>) {
        // Who has asked is told in any case, or is gone.
        let _ = self.answer(request);
    }
}
