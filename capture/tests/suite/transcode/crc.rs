//! CRCs bit by bit, least significant bit first, as the definitions of InfiniBand's and MPA's have them.

/// CRC-32 of Ethernet, which the ICRC uses too.
pub fn crc32(octets: &[u8]) -> u32 {
    !octets.iter().fold(!0, |crc, octet| {
        (0..8).fold(crc ^ u32::from(*octet), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

/// InfiniBand's CRC-16: 0x100B with its bits reversed.
pub fn crc16(octets: &[u8]) -> u16 {
    !octets.iter().fold(!0, |crc, octet| {
        (0..8).fold(crc ^ u16::from(*octet), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xd008 } else { crc >> 1 })
    })
}

/// CRC-32C, Castagnoli's, which MPA uses.
pub fn crc32c(octets: &[u8]) -> u32 {
    !octets.iter().fold(!0, |crc, octet| {
        (0..8).fold(crc ^ u32::from(*octet), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 })
    })
}

#[test]
fn check_value() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
}
