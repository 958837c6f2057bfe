//! Files of `testdata`: vectors, and the Sends of a capture.

/// The octets of a vector: hexadecimal digits, spaces, and comments from `#` to the end of the line.
pub fn hexadecimal(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .lines()
        .flat_map(|line| line.split('#').next().unwrap_or("").chars())
        .filter(|character| !character.is_whitespace())
        .map(|digit| u8::try_from(digit.to_digit(16).expect("a hexadecimal digit")).unwrap())
        .collect();
    assert!(digits.len().is_multiple_of(2), "half an octet");
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Every Send in a classic little-endian pcap file of RoCEv2 over Ethernet in which no packet is lost or sent again.
pub fn sends(file: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &file[24..];
    let mut sends = Vec::new();
    while rest.len() >= 16 {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let frame = &rest[16..16 + length];
        rest = &rest[16 + length..];
        let udp = match frame[12..14] {
            [8, 0] if frame[23] == 17 => &frame[34..],
            [0x86, 0xdd] if frame[20] == 17 => &frame[54..],
            _ => continue,
        };
        let end = usize::from(u16::from_be_bytes(udp[4..6].try_into().unwrap()));
        let transport = &udp[8..end];
        // SEND First, SEND Only; Middle, Last; with Invalidate, which has a handle before the payload: Last, Only.
        let (header, first) = match transport[0] {
            0x00 | 0x04 => (12, true),
            0x01 | 0x02 => (12, false),
            0x16 => (16, false),
            0x17 => (16, true),
            _ => continue,
        };
        let padding = usize::from(transport[1] >> 4 & 3);
        let payload = &transport[header..transport.len() - 4 - padding];
        let queue_pair = [transport[5], transport[6], transport[7]];
        match sends.iter_mut().rev().find(|send: &&mut ([u8; 3], Vec<u8>)| send.0 == queue_pair) {
            Some(send) if !first => send.1.extend_from_slice(payload),
            _ => sends.push((queue_pair, payload.to_vec())),
        }
    }
    sends.into_iter().map(|send| send.1).collect()
}
