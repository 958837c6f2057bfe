//! Files in a page.

use std::io::{self, Read, Write};

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use rpcrdma_answers::report::escaped;

/// Writes an element of HTML that holds a file. Base64 has no character that ends an element.
pub(crate) fn embed(out: &mut impl Write, name: &str, content: &mut impl Read) -> io::Result<()> {
    write!(out, "<script type=\"application/x-rpcrdma-capture\" data-name=\"{}\">", escaped(name))?;
    let mut encoder = EncoderWriter::new(&mut *out, &STANDARD);
    io::copy(content, &mut encoder)?;
    encoder.finish()?;
    drop(encoder);
    out.write_all(b"</script>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_embedded_whole_and_its_name_is_text() {
        let mut out = Vec::new();
        embed(&mut out, "\"><script>alert(1)</script>&.pcap", &mut &[0xd4, 0xc3, 0xb2, 0xa1][..]).unwrap();
        let name = "&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;.pcap";
        assert_eq!(
            String::from_utf8(out).unwrap(),
            format!("<script type=\"application/x-rpcrdma-capture\" data-name=\"{name}\">1MOyoQ==</script>\n")
        );
    }
}
