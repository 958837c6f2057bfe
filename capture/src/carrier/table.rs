//! Tables of what is looked up for every packet.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// A hash map for what is looked up for every packet. Its hashes are seeded, as the keys come from the capture.
pub(crate) type Map<K, V> = HashMap<K, V, RandomState>;
