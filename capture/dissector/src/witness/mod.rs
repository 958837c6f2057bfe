//! A second capture of the same packets, made at another place: two captures are two witnesses of one conversation.
//!
//! ```text
//! client's file ── Frame ─┬───────────────────────→ Dissector ── Event ─┬→ events with both ends
//!                         └→ id ─→ PacketMatcher ─→ ClockOffset ────────┤
//! server's file ── Frame ─┬→ id ──↗                                     │
//!                         └───────────────────────→ Dissector ── RPCs ──┘
//! ```
//!
//! Each file has a dissector, so that no statement about one capture rests on the other. Frames, RPCs and connections of the
//! answer are from the client's file. RPCs of the server's file are joined to RPCs of the client's file by addresses and XID, and by
//! the clock: a call arrives after being sent.
//!
//! Packets are recognised by fields that no network changes (`packet_id.rs`), never by time. Each packet that both files hold
//! bounds the difference of the two clocks (`clock_offset.rs`). A packet that one end sent several times, and that the other
//! file holds fewer times, was lost in between (`matching.rs`).

mod clock_offset;
mod matching;
mod packet_id;
mod recognition;
mod second;

pub use recognition::{SamePackets, SecondFile, recognise};
pub use second::SecondWitness;
