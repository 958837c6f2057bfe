//! Messages over TCP, each in a record (RFC 5531 section 11).

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc::Receiver;

/// Maximum length of a data item, in octets.
pub(crate) const MAX_DATA: u32 = 1 << 20;
/// Maximum length of a message that comes over TCP: data, and what is around it.
pub(crate) const MAX_MESSAGE: u32 = MAX_DATA + (64 << 10);

/// The bit of the last fragment of a record.
const LAST_FRAGMENT: u32 = 1 << 31;

/// Sends messages, which come in parts, each in a record of one fragment.
pub(crate) async fn send(mut messages: Receiver<Vec<Vec<u8>>>, mut writer: OwnedWriteHalf) -> io::Result<()> {
    while let Some(parts) = messages.recv().await {
        let length = u32::try_from(parts.iter().map(Vec::len).sum::<usize>()).map_err(io::Error::other)?;
        writer.write_u32(LAST_FRAGMENT | length).await?;
        for part in parts {
            writer.write_all(&part).await?;
        }
    }
    Ok(())
}

/// Receives a record.
pub(crate) async fn receive(reader: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    let mut message = Vec::new();
    loop {
        let header = reader.read_u32().await?;
        let (start, length) = (message.len(), (header & !LAST_FRAGMENT) as usize);
        if start + length > MAX_MESSAGE as usize {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message that is too long"));
        }
        message.resize(start + length, 0);
        reader.read_exact(message.get_mut(start..).unwrap_or_default()).await?;
        if header & LAST_FRAGMENT != 0 {
            return Ok(message);
        }
    }
}
