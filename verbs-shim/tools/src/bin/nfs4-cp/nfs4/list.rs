//! Directories: READDIR (RFC 7530 section 16.24), whose results come by Reply chunk.

use rpcrdma_verbs::Provider;

use super::compound::{Compound, READDIR};
use super::{Attributes, Error, Nfs4, ServerFile};

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The name, as far as valid in UTF-8.
    pub(crate) name: String,
    /// Its attributes.
    pub(crate) attributes: Attributes,
}

/// Maximum length of the results of a READDIR in octets.
const PAGE: u32 = 32_768;

impl<V: Provider> Nfs4<V> {
    /// Passes the entries of a directory to `take`, page by page, in the server's order. Returns their number.
    pub(crate) fn list(
        &self,
        directory: &ServerFile,
        mut take: impl FnMut(Entry) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let (mut cookie, mut verifier, mut number) = (0, [0; 8], 0);
        loop {
            let mut compound = Compound::from_handle(&directory.handle);
            compound.entries(cookie, verifier, PAGE);
            let call = self.run(&compound)?;
            let mut results = compound.results(&call)?;
            let reader = results.results_of(READDIR)?;
            verifier = *reader.array()?;
            let before = cookie;
            while reader.u32()? != 0 {
                cookie = reader.u64()?;
                let name = String::from_utf8_lossy(reader.opaque()?).into_owned();
                take(Entry { name, attributes: Attributes::decode(reader)? })?;
                number += 1;
            }
            if reader.u32()? != 0 {
                return Ok(number);
            }
            if cookie == before {
                return Err(Error::NoProgress("READDIR"));
            }
        }
    }
}
