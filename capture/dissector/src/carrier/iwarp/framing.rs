//! From the octets of one end to the setup frame and the FPDUs.
//!
//! While nothing is missing, each FPDU says where the next one begins. After a gap, or if the capture begins in the
//! middle, the next beginning has to be found: markers point there; without markers, the search is at the start of each
//! segment, where senders begin an FPDU (RFC 5044 section 5). A found FPDU is accepted if the headers and the CRC are
//! right, or, without CRCs, if the FPDU ends where a segment ends or where more valid headers follow. Until then
//! nothing is given.
//!
//! Without the connection setup, the use of markers and CRCs is unknown. Then every FPDU has to pass that test until
//! one is as long as the distance between two markers, or until markers are found in exactly one place.
//!
//! Wrong CRCs are always counted. With `verify_crc`, the FPDU is also dropped, as a receiver would.
//! If no CRC is in force, the field is ignored.

use super::ddp::DdpSegment;
use super::mpa::{self, Markers, Setup};
use super::tcp::Piece;
use crate::carrier::framed::{FramedKind, FramedOctets};
use crate::carrier::operation::{CutOctets, Places, Stamp};

/// Octets of an FPDU whose headers can be judged: length, and the longer of DDP's headers.
const JUDGED: usize = mpa::LENGTH_LEN + DdpSegment::UNTAGGED_LEN;
/// Octets of the stream that must contain a marker if markers are in use.
const SURELY_MARKED: usize = 512;

/// Output of the framing.
#[derive(Clone, Copy, Debug)]
pub(super) enum Framed<'a> {
    /// The frame of connection setup, and the place in the stream after the frame.
    Setup(Setup<'a>, u64),
    /// The content of an FPDU.
    Segment {
        segment: DdpSegment<'a>,
        /// The frame in which the FPDU begins.
        began: Stamp,
        /// Places of the FPDU.
        places: Places,
        /// True if a CRC is in force and wrong.
        is_wrong: bool,
    },
    /// Octets of the frame or FPDU that comes next.
    Octets(FramedOctets<'a>),
    /// The next data of this end is lost, or cannot be delimited.
    Lost,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FramingState {
    /// Nothing came yet.
    #[default]
    Beginning,
    /// FPDUs follow each other.
    Following,
    /// The beginning of the next FPDU is unknown.
    Searching,
}

/// Use of CRCs on a connection (RFC 5044 section 7.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CrcUse {
    /// One of the ends asked for CRCs, or an FPDU had a right one.
    InForce,
    /// Neither end asked for CRCs, or two FPDUs had wrong ones: the field is ignored.
    Ignored,
    /// The capture lacks the connection setup, and no FPDU has shown the use of CRCs yet.
    #[default]
    Unknown,
    /// The same, and one FPDU had a wrong CRC. Were CRCs in force, that would have ended the connection.
    UnknownAfterWrong,
}

impl CrcUse {
    /// The CRC of an FPDU of `length` octets, of which `frame` was captured.
    fn check(self, frame: &[u8], length: usize) -> FpduCrc {
        match self {
            Self::Ignored => FpduCrc::NotChecked,
            _ if frame.len() < length => FpduCrc::NotChecked,
            _ if mpa::crc_is_right(frame) => FpduCrc::Right,
            _ => FpduCrc::Wrong,
        }
    }

    /// Returns the state after an FPDU that was confirmed.
    const fn after(self, crc: FpduCrc) -> Self {
        match (self, crc) {
            (Self::Unknown | Self::UnknownAfterWrong, FpduCrc::Right) => Self::InForce,
            (Self::Unknown, FpduCrc::Wrong) => Self::UnknownAfterWrong,
            (Self::UnknownAfterWrong, FpduCrc::Wrong) => Self::Ignored,
            (known, _) => known,
        }
    }

    /// Returns true if `crc` proves a supposed FPDU, and false if `crc` disproves the FPDU; `None` for no proof.
    const fn confirms(self, crc: FpduCrc) -> Option<bool> {
        match (self, crc) {
            (_, FpduCrc::Right) => Some(true),
            (Self::InForce, FpduCrc::Wrong) => Some(false),
            _ => None,
        }
    }
}

/// The CRC of an FPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FpduCrc {
    Right,
    Wrong,
    /// No CRC is in force, or the capture cut the FPDU.
    NotChecked,
}

/// The stream of one end.
#[derive(Debug, Default)]
pub(super) struct Framing {
    state: FramingState,
    /// Positions of the markers, if known.
    markers: Option<Markers>,
    crc: CrcUse,
    /// True if the current FPDU was found by plausible headers and has not been confirmed.
    is_doubtful: bool,
    /// Beginning of the current frame.
    start: u64,
    /// First captured frame of the current FPDU.
    began: Stamp,
    /// Octets of the current FPDU that were captured without a gap.
    octets: Vec<u8>,
    length: usize,
    /// The data of an FPDU whose markers were taken out.
    room: Vec<u8>,
}

/// Fate of a frame.
enum FpduVerdict {
    Given,
    /// The octets are not a frame.
    Refused,
}

impl Framing {
    /// Sets the agreement of the two ends, as far as known.
    pub(super) fn agree(&mut self, markers: Option<Markers>, crc: CrcUse) {
        self.markers = markers.or(self.markers);
        if crc != CrcUse::Unknown {
            self.crc = crc;
        }
    }

    /// Forgets the agreement, which may no longer apply.
    pub(super) fn forget(&mut self) {
        (self.markers, self.crc) = (None, CrcUse::Unknown);
    }

    /// Octets are missing.
    pub(super) fn lose(&mut self) {
        self.octets = Vec::new();
        self.room = Vec::new();
        self.length = 0;
        self.state = FramingState::Searching;
    }

    /// Octets of memory that the current frame takes.
    pub(super) fn buffered_octets(&self) -> usize {
        self.octets.capacity() + self.room.capacity()
    }

    /// Takes the next octets.
    pub(super) fn piece(&mut self, piece: &Piece<'_>, out: &mut impl FnMut(Framed<'_>)) {
        let mut at = 0;
        if self.state == FramingState::Beginning && self.length == 0 {
            self.start = piece.place;
            if !piece.octets.get(..Setup::LEN.min(piece.octets.len())).is_some_and(could_be_setup) {
                self.state = FramingState::Searching;
            }
        }
        while at < piece.length {
            if self.state == FramingState::Searching {
                let Some(found) = self.find(piece, at) else { return };
                at = found;
                self.start = piece.place + at as u64;
                self.state = FramingState::Following;
                self.is_doubtful = true;
            }
            match self.frame(piece, &mut at, out) {
                Some(FpduVerdict::Given) => self.start = piece.place + at as u64,
                Some(FpduVerdict::Refused) => {
                    // Only the rest of this piece is examined, or all of it for a frame that began before it.
                    at = self.start.checked_sub(piece.place).map_or(0, |began| began as usize + 1);
                    self.lose();
                    out(Framed::Lost);
                }
                None => return,
            }
        }
    }

    /// Collects the octets of a frame, and emits the frame when complete. `None` if more is needed.
    fn frame(&mut self, piece: &Piece<'_>, at: &mut usize, out: &mut impl FnMut(Framed<'_>)) -> Option<FpduVerdict> {
        let rest = piece.octets.get(*at..).unwrap_or_default();
        let left = piece.length - *at;
        // Its first octets may have been retransmitted after the others.
        if self.length == 0 || piece.stamp.frame < self.began.frame {
            self.began = piece.stamp;
        }
        if self.length == 0
            && let Some(length) = self.frame_length(rest).filter(|length| *length <= left)
        {
            *at += length;
            let frame = CutOctets { octets: rest.get(..length).unwrap_or(rest), length };
            return Some(self.judge(frame, piece.after(*at), out));
        }
        while *at < piece.length {
            let known = self.frame_length(&self.octets);
            let wanted = known.unwrap_or_else(|| self.length + 1);
            let taken = wanted.saturating_sub(self.length).min(piece.length - *at);
            self.gather(piece.octets.get(*at..).unwrap_or_default(), taken);
            *at += taken;
            match self.frame_length(&self.octets) {
                Some(length) if length <= self.length => {
                    let octets = core::mem::take(&mut self.octets);
                    let frame = CutOctets { octets: &octets, length };
                    let verdict = self.judge(frame, piece.after(*at), out);
                    self.octets = octets;
                    self.octets.clear();
                    self.length = 0;
                    return Some(verdict);
                }
                None if self.octets.len() < self.length || self.length >= Setup::LEN => {
                    return Some(FpduVerdict::Refused);
                }
                _ => {}
            }
        }
        None
    }

    /// Stores the next `length` octets of a frame, if no earlier octet is missing.
    fn gather(&mut self, octets: &[u8], length: usize) {
        if self.octets.len() == self.length {
            self.octets.extend_from_slice(octets.get(..length).unwrap_or(octets));
        }
        self.length += length;
    }

    /// Octets of the frame that begins with `octets`; `None` if more octets are needed, or for anything but a setup
    /// frame.
    fn frame_length(&self, octets: &[u8]) -> Option<usize> {
        match self.state {
            FramingState::Beginning => Setup::length(octets),
            _ => self.assumed().fpdu_length(self.start, octets),
        }
    }

    /// Unless something else is known, there are no markers.
    fn assumed(&self) -> Markers {
        self.markers.unwrap_or(Markers::None)
    }

    /// Emits a frame, unless the octets cannot be one. `after` are the octets behind the frame in the same segment.
    fn judge(&mut self, frame: CutOctets<'_>, after: CutOctets<'_>, out: &mut impl FnMut(Framed<'_>)) -> FpduVerdict {
        let CutOctets { octets: frame, length } = frame;
        let end = self.start + length as u64;
        if self.state == FramingState::Beginning {
            let Some(setup) = Setup::decode(frame) else { return FpduVerdict::Refused };
            self.state = FramingState::Following;
            out(Framed::Octets(FramedOctets { place: self.start, octets: frame, kind: FramedKind::Setup }));
            out(Framed::Setup(setup, end));
            return FpduVerdict::Given;
        }
        let markers = self.assumed();
        let crc = self.crc.check(frame, length);
        let is_doubtful = self.is_doubtful || self.markers.is_none();
        if is_doubtful && !self.is_confirmed(crc, end, after) || !markers.are_right(self.start, frame) {
            return FpduVerdict::Refused;
        }
        let mut room = core::mem::take(&mut self.room);
        let content = markers.without(self.start, frame, &mut room);
        let decoded = mpa::ulpdu(content).and_then(|(ulpdu, length)| DdpSegment::decode(ulpdu, length));
        let verdict = match decoded {
            Some(segment) => {
                out(Framed::Octets(self.fpdu(frame)));
                let is_wrong = self.crc == CrcUse::InForce && crc == FpduCrc::Wrong;
                let places = Places { first: self.start, end };
                out(Framed::Segment { segment, began: self.began, places, is_wrong });
                FpduVerdict::Given
            }
            // A frame that was cut is still as long as it says.
            None if frame.len() < length => {
                out(Framed::Octets(self.fpdu(frame)));
                out(Framed::Lost);
                FpduVerdict::Given
            }
            None => FpduVerdict::Refused,
        };
        self.room = room;
        if matches!(verdict, FpduVerdict::Given) {
            self.is_doubtful = false;
            self.learn(crc, length);
        }
        verdict
    }

    fn fpdu<'a>(&self, octets: &'a [u8]) -> FramedOctets<'a> {
        let marker = match self.assumed() {
            Markers::None => None,
            Markers::At(place) => Some(place),
        };
        FramedOctets { place: self.start, octets, kind: FramedKind::Fpdu { marker } }
    }

    /// The part of the current FPDU that has come. `None` if the beginning of the FPDU is not certain.
    pub(super) fn unfinished(&self) -> Option<FramedOctets<'_>> {
        let is_known = self.state == FramingState::Following && !self.is_doubtful && self.length > 0;
        is_known.then(|| self.fpdu(&self.octets))
    }

    /// Returns true if what looks like an FPDU is one.
    fn is_confirmed(&self, crc: FpduCrc, end: u64, after: CutOctets<'_>) -> bool {
        self.crc.confirms(crc).unwrap_or_else(|| after.length == 0 || looks_right(self.assumed(), end, after.octets))
    }

    /// Learns from an FPDU that has been confirmed.
    fn learn(&mut self, crc: FpduCrc, length: usize) {
        if self.markers.is_none() && length >= SURELY_MARKED {
            self.markers = Some(Markers::None);
        }
        self.crc = self.crc.after(crc);
    }

    /// Returns the next offset in a piece, from `from` on, at which an FPDU may begin.
    fn find(&mut self, piece: &Piece<'_>, from: usize) -> Option<usize> {
        if from == 0 && piece.begins {
            if self.markers.is_none() {
                self.markers = self.marked(piece);
            }
            if looks_right(self.assumed(), piece.place, piece.octets) {
                return Some(0);
            }
        }
        let markers = self.markers?;
        markers.iter(piece.place, piece.octets).find_map(|(at, [zero, reserved, back @ ..])| {
            let back = usize::from(u16::from_be_bytes(back));
            let begins = at.checked_sub(back).filter(|begins| *begins >= from && (zero, reserved) == (0, 0))?;
            let octets = piece.octets.get(begins..)?;
            looks_right(markers, piece.place + begins as u64, octets).then_some(begins)
        })
    }

    /// Returns the positions of the markers, if a segment begins with a complete FPDU whose markers fit in exactly one
    /// way.
    fn marked(&self, piece: &Piece<'_>) -> Option<Markers> {
        if self.fits(piece, Markers::None) {
            return None; // this FPDU may be too short to hold one
        }
        let places = (0..SURELY_MARKED as u64).step_by(4).map(|at| Markers::At(piece.place + at));
        let mut fitting = places.filter(|markers| self.fits(piece, *markers));
        let found = fitting.next()?;
        fitting.next().is_none().then_some(found)
    }

    /// Returns true if a segment begins with a whole FPDU, if the markers are there.
    fn fits(&self, piece: &Piece<'_>, markers: Markers) -> bool {
        if !looks_right(markers, piece.place, piece.octets) {
            return false;
        }
        let length = markers.fpdu_length(piece.place, piece.octets);
        let Some((frame, after)) = length.and_then(|length| piece.octets.split_at_checked(length)) else {
            return false;
        };
        let is_marked = markers == Markers::None || markers.iter(piece.place, frame).next().is_some();
        let left = piece.length - frame.len();
        let is_confirmed = || {
            let confirmed = self.crc.confirms(self.crc.check(frame, frame.len()));
            confirmed.unwrap_or_else(|| left == 0 || looks_right(markers, piece.place + frame.len() as u64, after))
        };
        is_marked && markers.are_right(piece.place, frame) && is_confirmed()
    }
}

/// Returns true if a stream that begins with `octets` may begin with a setup frame.
fn could_be_setup(octets: &[u8]) -> bool {
    let key = octets.get(..16).unwrap_or(octets);
    [&b"MPA ID Req Frame"[..], b"MPA ID Rep Frame"].iter().any(|known| known.starts_with(key))
}

/// Returns true if `octets`, at `place`, begin with the headers of an FPDU.
fn looks_right(markers: Markers, place: u64, octets: &[u8]) -> bool {
    let mut room = Vec::new();
    let octets = octets.get(..octets.len().min(JUDGED + 4)).unwrap_or_default();
    let content = markers.without(place, octets, &mut room);
    mpa::ulpdu(content).is_some_and(|(ulpdu, length)| DdpSegment::decode(ulpdu, length).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carrier::operation::{Side, Stamp};

    /// An FPDU with a Send of this many octets, without markers; the CRC is right.
    fn fpdu(number: u8, octets: usize) -> Vec<u8> {
        let header = [0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number, 0, 0, 0, 0];
        let mut fpdu = [&(18 + octets as u16).to_be_bytes()[..], &header, &vec![number; octets]].concat();
        fpdu.resize(fpdu.len().next_multiple_of(4), 0);
        let sum = !fpdu.iter().fold(!0_u32, |crc, octet| {
            (0..8)
                .fold(crc ^ u32::from(*octet), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 })
        });
        fpdu.extend(sum.to_le_bytes());
        fpdu
    }

    /// The numbers of the Sends that are found, `!` for what is lost; each piece has a place, and begins a segment or
    /// not.
    fn found(framing: &mut Framing, pieces: &[(u64, &[u8], bool)]) -> String {
        let mut words = String::new();
        for (place, octets, begins) in pieces {
            let (from, stamp, length) = (Side::Active, Stamp::default(), octets.len());
            let (octets, begins, place) = (*octets, *begins, *place);
            let piece = Piece { from, stamp, place, octets, length, begins, acknowledges: None, first_sent: None };
            framing.piece(&piece, &mut |found| match found {
                Framed::Setup(..) => words.push('S'),
                Framed::Segment { segment, is_wrong, .. } => {
                    words.push(char::from(b'0' + segment.data.first().copied().unwrap_or_default()));
                    words.push_str(if is_wrong { "?" } else { "" });
                }
                Framed::Octets(_) => {}
                Framed::Lost => words.push('!'),
            });
        }
        words
    }

    fn set_up(crc: bool) -> Framing {
        let mut framing = Framing::default();
        let frame = [&b"MPA ID Req Frame"[..], &[0, 1, 0, 0]].concat();
        assert_eq!(found(&mut framing, &[(0, &frame, true)]), "S");
        framing.agree(Some(Markers::None), if crc { CrcUse::InForce } else { CrcUse::Ignored });
        framing
    }

    #[test]
    fn fpdus_are_found_however_they_are_cut() {
        let stream = [fpdu(1, 5), fpdu(2, 700), fpdu(3, 0), fpdu(4, 100)].concat();
        for length in 1..stream.len() {
            let mut framing = set_up(true);
            let pieces: Vec<(u64, &[u8], bool)> = stream
                .chunks(length)
                .zip(0..)
                .map(|(chunk, index)| (20 + index * length as u64, chunk, true))
                .collect();
            assert_eq!(found(&mut framing, &pieces), "1204", "pieces of {length}");
        }
    }

    #[test]
    fn a_wrong_crc_is_noticed_where_crcs_are_in_force() {
        let mut wrong = fpdu(2, 8);
        *wrong.last_mut().unwrap() ^= 1;
        let stream = [fpdu(1, 8), wrong, fpdu(3, 8)].concat();
        assert_eq!(found(&mut set_up(true), &[(20, &stream, true)]), "12?3");
        assert_eq!(found(&mut set_up(false), &[(20, &stream, true)]), "123");
    }

    #[test]
    fn behind_a_gap_only_what_is_confirmed_is_believed() {
        let (good, more) = (fpdu(1, 8), fpdu(2, 8));
        let mut other = good.clone();
        *other.last_mut().unwrap() ^= 1;
        for crc in [true, false] {
            let lost = || {
                let mut framing = set_up(crc);
                framing.lose();
                framing
            };
            assert_eq!(found(&mut lost(), &[(100, &good, true)]), "1", "ends with its segment");
            assert_eq!(found(&mut lost(), &[(100, &good, false)]), "", "does not begin with it");
            assert_eq!(found(&mut lost(), &[(100, &[&good[..], &more].concat(), true)]), "12");
            let followed = [&good[..], &[0xff; 30]].concat();
            assert_eq!(found(&mut lost(), &[(100, &followed, true)]), if crc { "1" } else { "!" });
            assert_eq!(found(&mut lost(), &[(100, &other, true)]), if crc { "!" } else { "1" });
            // Octets that are no FPDU do not hide one at the beginning of the next segment.
            let claim = [&[0, 200], good.get(2..).unwrap()].concat();
            assert_eq!(
                found(&mut lost(), &[(100, &claim, true), (136, &[&good[..], &[0xff; 200]].concat(), true)]),
                if crc { "!1" } else { "!!" }
            );
        }
    }

    #[test]
    fn what_is_cut_is_as_long_as_it_says() {
        let (first, second) = (fpdu(1, 100), fpdu(2, 8));
        let mut framing = set_up(true);
        let mut words = String::new();
        for (place, octets, length) in [(20, first.get(..60).unwrap(), first.len()), (144, &second[..], second.len())] {
            let (from, stamp) = (Side::Active, Stamp::default());
            let piece =
                Piece { from, stamp, place, octets, length, begins: true, acknowledges: None, first_sent: None };
            framing.piece(&piece, &mut |found| match found {
                Framed::Octets(_) => {}
                Framed::Segment { segment, .. } => words += &format!("{}/{} ", segment.data.len(), segment.length),
                other => panic!("{other:?}"),
            });
        }
        assert_eq!(words, "40/100 8/8 ");
    }

    #[test]
    fn where_markers_are_is_found_out() {
        // At place 1000 a segment begins with an FPDU; a marker follows after 8 octets, and every 512.
        let mut marked = fpdu(1, 1000);
        for at in [8, 520] {
            let back = (at as u16).to_be_bytes();
            marked.splice(at..at, [0, 0, back[0], back[1]]);
        }
        let mut framing = Framing::default();
        assert_eq!(found(&mut framing, &[(1000, &marked, true)]), "1");
        assert_eq!(framing.markers, Some(Markers::At(1008)));
        // With one wrong marker, nothing is believed.
        marked[523] ^= 1;
        let mut framing = Framing::default();
        assert_eq!((found(&mut framing, &[(1000, &marked, true)]), framing.markers), (String::new(), None));
        // A long FPDU without any shows that there are none.
        let mut framing = Framing::default();
        assert_eq!(found(&mut framing, &[(1000, &fpdu(1, 1000), true)]), "1");
        assert_eq!((framing.markers, framing.crc), (Some(Markers::None), CrcUse::InForce));
    }
}
