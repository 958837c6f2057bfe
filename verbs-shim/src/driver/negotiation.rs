//! Negotiation of version and properties, before a client's first call (version 2).

use std::iter;
use std::time::{Duration, Instant};

use rpcrdma::endpoint::Channel;
use rpcrdma::endpoint::channel::Negotiation;

use super::buffers::{Buffers, OutgoingSend, Sent};
use super::resources::{Provider, Resources};
use super::work_id::WorkId;
use crate::message::end_reason::{EndReason, InternalFault};
use crate::message::stream::Stream;
use crate::verbs::{Error, Status};

/// Sends the next message of a channel that belongs to no call. Returns false if there was none.
pub(super) fn send_control<V: Provider>(
    resources: &Resources<V>,
    buffers: &mut Buffers<V>,
    channel: &mut Channel,
    occupied: impl FnOnce() -> u32,
) -> Result<bool, EndReason> {
    if channel.is_silent() {
        return Ok(false);
    }
    let receivable = buffers.receivable().saturating_sub(occupied());
    match channel.poll(receivable, &mut buffers.header) {
        Ok(None) => Ok(false),
        Ok(Some(length)) => {
            let (payload, stream) = (iter::empty(), &Stream::default());
            let send = OutgoingSend { header: length, payload, stream, purpose: Sent::Nothing, invalidate: None };
            buffers.send(resources, send)?;
            Ok(true)
        }
        // They are no larger than the smallest inline threshold.
        Err(_) => Err(EndReason::Internal(InternalFault::Header)),
    }
}

/// Negotiates the version of a new connection, within this time. After that, the channel's negotiation is not pending.
///
/// # Errors
/// Any error of the provider; that the connection was lost or timed out, if there is no other version to try on the
/// next one.
pub(crate) fn negotiate<V: Provider>(
    resources: &Resources<V>,
    buffers: &mut Buffers<V>,
    channel: &mut Channel,
    longest: Duration,
) -> Result<(), Error> {
    let deadline = Instant::now().checked_add(longest);
    while channel.negotiation() == Negotiation::Pending {
        let left = deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
        if let Err(error) = exchange_next(resources, buffers, channel, left) {
            channel.lost();
            let is_lost = matches!(error, Error::Disconnected | Error::TimedOut);
            if !is_lost || channel.negotiation() == Negotiation::Lost {
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Sends the next message, or takes the next completion.
fn exchange_next<V: Provider>(
    resources: &Resources<V>,
    buffers: &mut Buffers<V>,
    channel: &mut Channel,
    left: Duration,
) -> Result<(), Error> {
    if left.is_zero() {
        return Err(Error::TimedOut);
    }
    let has_sent = buffers.are_ready()
        && send_control(resources, buffers, channel, || 0).map_err(|ended| match ended {
            EndReason::Refused(error) => error,
            _ => Error::Disconnected,
        })?;
    if has_sent { Ok(()) } else { take_completion(resources, buffers, channel, left) }
}

fn take_completion<V: Provider>(
    resources: &Resources<V>,
    buffers: &mut Buffers<V>,
    channel: &mut Channel,
    left: Duration,
) -> Result<(), Error> {
    let completion = resources.verbs.completion(&resources.queue_pair, left)?.ok_or(Error::TimedOut)?;
    if completion.status != Status::Success {
        return Err(Error::Disconnected);
    }
    match WorkId::from_id(completion.id) {
        WorkId::Receive(receive) => {
            let receive = buffers.received(receive).ok_or(Error::Disconnected)?;
            let look = |octets: &[u8]| channel.received(octets.get(..completion.length).unwrap_or_default());
            // No call was made, so no endpoint waits for this message.
            let _nobody = buffers.read_message(resources, receive, look)?;
            buffers.post_receive(resources, receive)?;
        }
        WorkId::Send(slot) => {
            buffers.completed();
            buffers.take_sent(slot);
        }
        WorkId::Read(_) | WorkId::Write(_) | WorkId::ReadReply(_) | WorkId::KeepAlive => {}
    }
    Ok(())
}
