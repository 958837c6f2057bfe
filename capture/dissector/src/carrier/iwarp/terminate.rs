//! RDMAP's Terminate: the connection is over, and why (RFC 5040 section 4.8, RFC 5041 section 7.2, RFC 5044 section 8,
//! RFC 6581 section 8).
//!
//! ```text
//!  0  layer, 4 bits; type of error, 4 bits     4  length of the DDP segment that was wrong, where M or D is set
//!  1  code                                     6  its DDP header, where D is set
//!  2  M, D, R, reserved                           its RDMAP header, where R is set
//! ```

use super::ddp::{DdpSegment, Opcode};
use crate::carrier::connection::RefusedAccess;
use crate::carrier::terminate::Terminate;

const HAS_LENGTH: u8 = 0x80;
const HAS_HEADER: u8 = 0x40;
const HEADER: usize = 6;

impl Terminate {
    /// Reads the data of a Terminate message; `None` if the data is too short.
    #[must_use]
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let [first, code, control, _, ..] = *octets else { return None };
        let length = octets.get(4..).and_then(|rest| rest.first_chunk()).map(|length| u16::from_be_bytes(*length));
        let header = octets.get(HEADER..).filter(|_| control & HAS_HEADER != 0);
        let segment = header.and_then(|header| DdpSegment::decode(header, header.len()));
        Some(Self {
            layer: first >> 4,
            error_type: first & 0x0f,
            code,
            length: length.filter(|_| control & (HAS_LENGTH | HAS_HEADER) != 0),
            message: segment.and_then(|segment| segment.opcode.name()),
        })
    }

    /// Returns the RDMA Read or RDMA Write to which the end refuses access: a remote protection error of RDMAP, or a
    /// tagged buffer error of DDP, and nothing about invalidation.
    #[must_use]
    pub(super) fn refused(&self) -> Option<RefusedAccess> {
        if !matches!((self.layer, self.error_type, self.code), (0, 1, 0x00..=0x04) | (1, 1, 0x00..=0x03)) {
            return None;
        }
        let is = |opcode: Opcode| self.message == opcode.name();
        // Data that this end asked for comes into its own memory.
        if is(Opcode::READ_RESPONSE) {
            return None;
        }
        Some(if is(Opcode::WRITE) {
            RefusedAccess::Write
        } else if is(Opcode::READ_REQUEST) {
            RefusedAccess::Read
        } else {
            RefusedAccess::Unknown
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_in_words() {
        let write = [0xc1, 0x40, 0, 0, 7, 0x75, 0, 0, 0, 0, 0, 0, 0, 0];
        let terminate = Terminate::decode(&[&[0x01, 0x01, 0xc0, 0, 0, 30][..], &write].concat()).unwrap();
        let words = "RDMAP, remote protection error: base or bounds violation, in a segment of 30 octets (RDMA Write)";
        assert_eq!(terminate.to_string(), words);
        let text = |octets: &[u8]| Terminate::decode(octets).unwrap().to_string();
        assert_eq!(text(&[0x20, 0x02, 0, 0]), "MPA: CRC wrong");
        assert_eq!(
            text(&[0x12, 0x05, 0x80, 0, 1, 0]),
            "DDP, untagged buffer error: message too long for its buffer, in a segment of 256 octets"
        );
        assert_eq!(text(&[0x00, 0x99, 0, 0]), "RDMAP, local catastrophic error");
        assert_eq!(text(&[0x97, 0x05, 0, 0]), "layer 0x9, type 0x7: code 0x05");
        assert_eq!(text(&[0x01, 0x77, 0, 0]), "RDMAP, remote protection error: code 0x77");
    }

    /// The DDP control octet and opcode of a segment: tagged for a Write and a Read response, untagged for a Read request.
    #[test]
    fn a_terminate_names_the_kind_of_memory_access_refused() {
        let refused = |kind: &[u8], control: u8, ddp: [u8; 2]| {
            // Read requests are in queue 1.
            let header = [&ddp[..], &[0, 0, 0, 0, 0, 0, 0, 1], &[0; 8]].concat();
            Terminate::decode(&[kind, &[control, 0, 0, 30], &header].concat()).unwrap().refused()
        };
        let protection = [0x01, 0x01];
        assert_eq!(refused(&protection, 0xc0, [0xc1, 0x40]), Some(RefusedAccess::Write));
        assert_eq!(refused(&protection, 0xc0, [0x41, 0x41]), Some(RefusedAccess::Read));
        assert_eq!(refused(&protection, 0xc0, [0xc1, 0x42]), None, "data that this end asked for");
        assert_eq!(refused(&protection, 0, [0, 0]), Some(RefusedAccess::Unknown));
        assert_eq!(refused(&[0x11, 0x00], 0xc0, [0xc1, 0x40]), Some(RefusedAccess::Write), "by DDP");
        assert_eq!(refused(&[0x02, 0x05], 0xc0, [0xc1, 0x40]), None, "another error");
    }

    #[test]
    fn what_is_too_short_is_none() {
        assert_eq!(Terminate::decode(&[0x01, 0x01, 0xc0]), None);
        let terminate = Terminate::decode(&[0x01, 0x01, 0xc0, 0, 0]).unwrap();
        assert_eq!((terminate.length, terminate.message), (None, None));
    }
}
