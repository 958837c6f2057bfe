//! The part of XDR (RFC 4506) that the echo program and NFS need.

use rpcrdma_verbs::Stream;

/// Returns the XDR padding of an opaque of this length.
pub(crate) fn padding(length: usize) -> &'static [u8] {
    const ZEROS: &[u8] = &[0; 3];
    ZEROS.get(..length.next_multiple_of(4) - length).unwrap_or_default()
}

/// Takes a word from the start of octets.
pub(crate) fn word(octets: &mut &[u8]) -> Option<u32> {
    let (word, rest) = octets.split_first_chunk()?;
    *octets = rest;
    Some(u32::from_be_bytes(*word))
}

/// Takes a hyper integer from the start of octets.
pub(crate) fn hyper(octets: &mut &[u8]) -> Option<u64> {
    let (hyper, rest) = octets.split_first_chunk()?;
    *octets = rest;
    Some(u64::from_be_bytes(*hyper))
}

/// Takes variable-length opaque data from the start of octets, with its padding.
pub(crate) fn opaque<'a>(octets: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = word(octets)? as usize;
    let (data, rest) = octets.split_at_checked(length)?;
    *octets = rest.split_at_checked(length.next_multiple_of(4) - length)?.1;
    Some(data)
}

/// Appends words.
pub(crate) fn push(stream: &mut Stream, words: &[u32]) {
    words.iter().for_each(|word| stream.push(&word.to_be_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opaque_data_ends_with_its_padding() {
        let mut octets = &[0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0, 9][..];
        assert_eq!(opaque(&mut octets), Some(&[1, 2, 3, 4, 5][..]));
        assert_eq!(octets, [9]);
        for cut in 0..12 {
            assert_eq!(opaque(&mut &[0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0][..cut]), None, "{cut}");
        }
        assert_eq!(opaque(&mut &[0xff; 8][..]), None);
    }
}
