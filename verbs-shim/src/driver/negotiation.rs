//! What a client says before its first call, in version 2.

use std::iter;
use std::time::{Duration, Instant};

use rpcrdma::endpoint::Channel;
use rpcrdma::endpoint::channel::Negotiation;

use super::buffers::{Buffers, Sent};
use super::port::{Port, Posted, Provider};
use crate::message::ended::{Ended, InternalFault};
use crate::message::stream::Stream;
use crate::verbs::{Error, Status};

/// Sends the next message of a channel that belongs to no call, and says whether there was one.
pub(super) fn send_control<V: Provider>(
    port: &Port<V>,
    buffers: &mut Buffers<V>,
    channel: &mut Channel,
    occupied: impl FnOnce() -> u32,
) -> Result<bool, Ended> {
    if channel.is_silent() {
        return Ok(false);
    }
    let room = buffers.room().saturating_sub(occupied());
    match channel.poll(room, &mut buffers.header) {
        Ok(None) => Ok(false),
        Ok(Some(length)) => {
            buffers.send(port, (length, iter::empty(), &Stream::default()), (Sent::Nothing, None))?;
            Ok(true)
        }
        // They are no larger than the smallest inline threshold.
        Err(_) => Err(Ended::Internal(InternalFault::Header)),
    }
}

/// Finds out what a new connection speaks, within this time. What the channel says then is certain.
pub(crate) fn negotiate<V: Provider>(
    port: &Port<V>,
    buffers: &mut Buffers<V>,
    channel: &mut Channel,
    longest: Duration,
) -> Result<(), Error> {
    let deadline = Instant::now().checked_add(longest);
    while channel.negotiation() == Negotiation::Pending {
        if buffers.are_ready() {
            match send_control(port, buffers, channel, || 0) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(Ended::Refused(error)) => return Err(error),
                Err(_) => {
                    channel.lost();
                    break;
                }
            }
        }
        let left = deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_zero() || !take(port, buffers, channel, left)? {
            channel.lost();
        }
    }
    Ok(())
}

/// Takes the next completion; false if the connection is over, or nothing has come in time.
fn take<V: Provider>(
    port: &Port<V>,
    buffers: &mut Buffers<V>,
    channel: &mut Channel,
    left: Duration,
) -> Result<bool, Error> {
    let completion = match port.verbs.completion(&port.queue_pair, left) {
        Ok(Some(completion)) if completion.status == Status::Success => completion,
        Ok(_) | Err(Error::Disconnected) => return Ok(false),
        Err(error) => return Err(error),
    };
    match Posted::from_id(completion.id) {
        Posted::Receive(receive) => {
            buffers.received();
            let look = |octets: &[u8]| channel.received(octets.get(..completion.length).unwrap_or_default());
            // No call was made, so there is nobody it could be for.
            let _nobody = buffers.look(port, receive, look)?;
            buffers.post_receive(port, receive)?;
        }
        Posted::Send(slot) => {
            buffers.completed();
            buffers.take_sent(slot);
        }
        Posted::Read(_) | Posted::Write(_) | Posted::Pull(_) => {}
    }
    Ok(true)
}
