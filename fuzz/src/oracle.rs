//! Properties: the codec and the reference decoder agree, and an encoder writes exactly the announced octets.

use core::fmt::Debug;

use rpcrdma::error::EncodeError;

use crate::reference::RefusalReason;

/// The octet with which buffers are filled, to show where something was written.
const FILL: u8 = 0xa5;

/// Checks that the codec found the same as the reference decoder, or refused the input for the same reason.
pub(crate) fn same<T: Debug + PartialEq>(
    what: &str,
    found: Result<T, RefusalReason>,
    expected: Result<T, RefusalReason>,
) {
    assert_eq!(found, expected, "{what}: the codec, and what the reference decoder says");
}

/// Returns what `encode` writes: exactly the announced length, in no smaller buffer, and nothing afterwards.
pub(crate) fn encoded(length: usize, encode: impl Fn(&mut [u8]) -> Result<usize, EncodeError>) -> Vec<u8> {
    let mut buffer = vec![FILL; length + 5];
    assert_eq!(encode(&mut buffer), Ok(length), "as long as it says");
    let behind = buffer.split_off(length);
    assert_eq!(behind, [FILL; 5], "nothing is written behind it");
    // Tries every smaller buffer, or only some if they are long, because each takes as long as the whole.
    let mut scratch = vec![FILL; length];
    for available in (0..length).step_by(length / 256 + 1).chain(length.checked_sub(1)) {
        let small = scratch.get_mut(..available).unwrap_or_default();
        assert_eq!(encode(small), Err(EncodeError { needed: length, missing: length - available }));
    }
    assert!(scratch.iter().all(|octet| *octet == FILL), "a buffer that is too small stays as it was");
    buffer
}
