//! Resident memory of this process.

/// Returns the resident memory of this process in KiB, or 0 where the operating system does not tell.
pub(crate) fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    resident.and_then(|resident| resident.parse().ok()).unwrap_or_default()
}
