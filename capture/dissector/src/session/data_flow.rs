//! Data that an end sends by RDMA on a connection, for all RPCs: the time for which the end sends none, though there is
//! data to send, and the highest rate of sending.

use crate::carrier::handler::CongestionSign;
use crate::carrier::operation::{Operation, OperationKind, Side, Sides};
use crate::file::Time;
use crate::rpc::data_times::SenderTimes;

/// Nanoseconds for an octet of data that a network moves without being slow: 100 MB/s.
const PER_OCTET: u64 = 10;
/// The least time without a packet that is a pause: 0.1 ms. Ethernet of 100 Mb/s needs less for a packet of 1,024 octets.
const PAUSE: u64 = 100_000;
/// Octets without a break in which a rate is measured: a capture may have one time for many packets.
const MEASURED: u64 = 32 * 1024;
/// Rates are in nanoseconds for so many octets.
const UNIT: u64 = 1024;

/// Latest event of the data that an end sends.
#[derive(Clone, Copy, Debug, Default)]
enum Latest {
    /// Packets may be missing since the latest event, or were retransmitted.
    #[default]
    Unknown,
    /// Data was requested by RDMA Read when all data that was requested before had been sent.
    Requested(Time),
    /// Data of this call was sent.
    Sent { call: u64, time: Time },
}

/// A packet of data.
#[derive(Clone, Copy, Debug)]
struct DataPacket {
    call: u64,
    octets: u64,
    /// True for data that an RDMA Read requested: the sender had the data to send since the request.
    is_requested: bool,
}

/// Rate of the data of an end.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    /// Beginning of the measurement, and the octets since then.
    since: Time,
    octets: u64,
    /// The shortest time that was measured for [`UNIT`] octets.
    shortest: Option<u64>,
}

impl Rate {
    const fn restart(&mut self, time: Time) {
        (self.since, self.octets) = (time, 0);
    }

    /// Takes octets that came at a time.
    fn add_octets(&mut self, octets: u64, time: Time) {
        add_saturating(&mut self.octets, octets);
        if self.octets >= MEASURED {
            let measured = (time.0.saturating_sub(self.since.0).saturating_mul(UNIT) / self.octets).max(1);
            self.shortest = Some(self.shortest.map_or(measured, |shortest| shortest.min(measured)));
            self.restart(time);
        }
    }

    /// Returns the time that octets need at the highest rate; `None` before a rate was measured.
    const fn needed(&self, octets: u64) -> Option<u64> {
        match self.shortest {
            Some(shortest) => Some(octets.saturating_mul(shortest) / UNIT),
            None => None,
        }
    }
}

/// Adds a duration: a clock that jumps may make the sum as long as time can be.
fn add_saturating(sum: &mut u64, nanoseconds: u64) {
    *sum = sum.saturating_add(nanoseconds);
}

/// Data that both ends send by RDMA.
#[derive(Debug, Default)]
pub(super) struct DataFlows {
    ends: Box<Sides<DataFlow>>,
    /// Frames that paused a port, so far.
    port_pauses: u32,
    /// True if the data is followed.
    pub(super) is_wanted: bool,
}

impl DataFlows {
    /// Returns the times that an end spent on data since the beginning of the connection.
    pub(super) const fn times(&self, sender: Side) -> SenderTimes {
        self.ends.get(sender).times
    }

    /// Takes a packet of data for a call.
    #[inline]
    pub(super) fn send(&mut self, operation: &Operation<'_>, call: u64, length: usize) {
        if self.is_wanted {
            let is_requested = matches!(operation.kind, OperationKind::ReadResponse { .. });
            let packet = DataPacket { call, octets: length as u64, is_requested };
            self.ends.get_mut(operation.from).send(operation, packet);
        }
    }

    /// Notes that the other end requests data of this sender by RDMA Read. Requests are answered in their order.
    pub(super) fn request(&mut self, sender: Side, request: u64, time: Time) {
        self.ends.get_mut(sender).request(request, time);
    }

    /// Notes that a sender sent all data of a request.
    pub(super) fn complete(&mut self, sender: Side, request: u64) {
        self.ends.get_mut(sender).complete(request);
    }

    /// Notes that packets were missed or retransmitted: the time up to the next packet of data is no pause of the
    /// sender.
    pub(super) const fn disturb(&mut self) {
        self.ends.active.disturb();
        self.ends.passive.disturb();
    }

    /// Notes an indication of congestion for what an end sends.
    pub(super) const fn congest(&mut self, sender: Side, sign: CongestionSign) {
        self.ends.get_mut(sender).congest(sign);
    }

    /// Notes that the window for what an end sends became 0, or is no longer 0.
    pub(super) fn set_window(&mut self, sender: Side, is_closed: bool, time: Time) {
        self.ends.get_mut(sender).set_window(is_closed, time);
    }

    /// Takes the round-trip time to both ends, in nanoseconds.
    pub(super) const fn set_round_trip(&mut self, nanoseconds: u64) {
        self.ends.active.round_trip = nanoseconds;
        self.ends.passive.round_trip = nanoseconds;
    }

    /// Notes the frames so far that paused a port.
    #[inline]
    pub(super) const fn note_port_pauses(&mut self, port_pauses: u32) {
        if self.port_pauses != port_pauses {
            self.change_port_pauses(port_pauses);
        }
    }

    #[cold]
    const fn change_port_pauses(&mut self, port_pauses: u32) {
        self.port_pauses = port_pauses;
        self.ends.active.times.congestion.pauses = port_pauses;
        self.ends.passive.times.congestion.pauses = port_pauses;
    }
}

/// Data that an end sends by RDMA.
#[derive(Clone, Copy, Debug, Default)]
struct DataFlow {
    latest: Latest,
    /// Time with a window of 0 up to the latest event.
    window_before: u64,
    /// Since when the other end's window is 0.
    closed_since: Option<Time>,
    /// Latest request for data by RDMA Read, until all of the data was sent.
    requested: Option<u64>,
    rate: Rate,
    /// Round-trip time to both ends in nanoseconds, as far as known.
    round_trip: u64,
    /// Times since the beginning of the connection.
    times: SenderTimes,
}

impl DataFlow {
    /// The other end requests data by RDMA Read. Requests are answered in their order.
    fn request(&mut self, request: u64, time: Time) {
        if self.requested.replace(request).is_none() {
            self.latest = Latest::Requested(time);
            self.window_before = self.times.window;
        }
    }

    /// All data of a request was sent.
    fn complete(&mut self, request: u64) {
        self.requested.take_if(|requested| *requested == request);
    }

    /// The capture lacks packets, or packets were retransmitted: the time up to the next packet is no pause.
    const fn disturb(&mut self) {
        self.latest = Latest::Unknown;
    }

    /// The window of the other end became 0, or is no longer 0.
    fn set_window(&mut self, is_closed: bool, time: Time) {
        match (is_closed, self.closed_since) {
            (true, None) => self.closed_since = Some(time),
            (false, Some(since)) => {
                add_saturating(&mut self.times.window, time.0.saturating_sub(since.0));
                self.closed_since = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// An indication of congestion came for the data of the end.
    const fn congest(&mut self, sign: CongestionSign) {
        let congestion = &mut self.times.congestion;
        match sign {
            CongestionSign::Notification => congestion.notifications = congestion.notifications.wrapping_add(1),
            CongestionSign::Mark => congestion.marks = congestion.marks.wrapping_add(1),
        }
    }

    /// Takes a packet of data.
    fn send(&mut self, operation: &Operation<'_>, DataPacket { call, octets, is_requested }: DataPacket) {
        let time = operation.stamp.time;
        let before = core::mem::replace(&mut self.latest, Latest::Sent { call, time });
        let window = self.times.window - core::mem::replace(&mut self.window_before, self.times.window);
        let elapsed = |since: Time| time.0.saturating_sub(since.0).saturating_sub(window);
        if operation.retransmitted > 0 || operation.first_sent.is_some() {
            return self.rate.restart(time);
        }
        let needed = self.rate.needed(octets);
        match before {
            Latest::Requested(since) => {
                add_saturating(&mut self.times.late, elapsed(since));
                self.rate.restart(time);
            }
            Latest::Sent { call: previous, time: since } => {
                let elapsed = elapsed(since);
                // Steady packets are not equally far apart.
                add_saturating(
                    &mut self.times.full,
                    needed.map_or(0, |needed| elapsed.min(needed.saturating_add(needed / 4))),
                );
                // Between the data of two READs, the server may have had nothing to send.
                if is_requested || previous == call {
                    if elapsed >= PAUSE {
                        let beyond =
                            elapsed.saturating_sub(octets.saturating_mul(PER_OCTET).saturating_add(self.round_trip));
                        add_saturating(&mut self.times.paused, if beyond >= PAUSE { beyond } else { 0 });
                    }
                    add_saturating(&mut self.times.slowed, needed.map_or(0, |needed| elapsed.saturating_sub(needed)));
                    self.rate.add_octets(octets, time);
                } else {
                    self.rate.restart(time);
                }
            }
            Latest::Unknown => self.rate.restart(time),
        }
    }
}
