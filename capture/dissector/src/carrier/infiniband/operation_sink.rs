//! The receiver of the operations that packets in order make.

use crate::carrier::acknowledgement::{Acknowledgement, AcknowledgementOrder};
use crate::carrier::handler::Taken;
use crate::carrier::operation::{Operation, Origin};

/// Takes what the ends of one connection did, in order.
pub(super) trait OperationSink {
    /// An end did something; if `last`, no later packet explains the operation, which must not be returned as early.
    fn take_operation(&mut self, operation: Operation<'_>, last: bool) -> Taken;
    /// An end acknowledged what the other end sends, up to a packet sequence number.
    fn acknowledged(&mut self, by: Origin, acknowledgement: Acknowledgement);
    /// A packet of an end was captured after the acknowledgement of the packet; `order` counts such packets, and the
    /// others.
    fn acknowledged_early(&mut self, packet: Origin, order: AcknowledgementOrder);
}

/// Takes operations that will not be offered again.
pub(super) struct LastOffer<'a, S>(pub(super) &'a mut S);

impl<S: OperationSink> OperationSink for LastOffer<'_, S> {
    fn take_operation(&mut self, operation: Operation<'_>, _last: bool) -> Taken {
        self.0.take_operation(operation, true);
        Taken::Done
    }

    fn acknowledged(&mut self, by: Origin, acknowledgement: Acknowledgement) {
        self.0.acknowledged(by, acknowledgement);
    }

    fn acknowledged_early(&mut self, packet: Origin, order: AcknowledgementOrder) {
        self.0.acknowledged_early(packet, order);
    }
}
