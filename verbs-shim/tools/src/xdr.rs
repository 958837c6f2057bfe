//! The part of XDR (RFC 4506) that the echo program and NFS need, for arguments that are read from their start.

use rpcrdma::Reader;
use rpcrdma::reader::EndOfInput;
use rpcrdma_verbs::Stream;

/// Returns the XDR padding of an opaque of this length.
pub(crate) fn padding(length: usize) -> &'static [u8] {
    const ZEROS: &[u8] = &[0; 3];
    ZEROS.get(..length.next_multiple_of(4) - length).unwrap_or_default()
}

fn take_item<'a, T>(octets: &mut &'a [u8], read: fn(&mut Reader<'a>) -> Result<T, EndOfInput>) -> Option<T> {
    let mut reader = Reader::new(octets);
    let value = read(&mut reader).ok()?;
    *octets = reader.rest();
    Some(value)
}

/// Takes a word from the start of octets.
pub(crate) fn word(octets: &mut &[u8]) -> Option<u32> {
    take_item(octets, Reader::u32)
}

/// Takes a hyper integer from the start of octets.
pub(crate) fn hyper(octets: &mut &[u8]) -> Option<u64> {
    take_item(octets, Reader::u64)
}

/// Takes variable-length opaque data and padding from the start of octets.
pub(crate) fn opaque<'a>(octets: &mut &'a [u8]) -> Option<&'a [u8]> {
    take_item(octets, Reader::opaque)
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
