//! Texts that many rows share, each once.

use std::collections::HashMap;
use std::rc::Rc;

use serde::Serialize;

/// A text in [`Names`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub(crate) struct Name(u32);

/// Texts in the order of first sight. The first text is empty.
#[derive(Debug)]
pub(crate) struct Names {
    texts: Vec<Rc<str>>,
    places: HashMap<Rc<str>, Name>,
    /// Octets of the texts.
    octets: usize,
}

/// Octets of overhead of a text, about: places in both tables, and counts.
const OVERHEAD: usize = 64;

impl Name {
    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    /// The name with a [`number`](Self::number).
    pub(crate) const fn from_number(number: u64) -> Self {
        Self(number as u32)
    }
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Self { texts: Vec::new(), places: HashMap::new(), octets: 0 };
        names.insert("");
        names
    }
}

impl Names {
    pub(crate) fn insert(&mut self, text: &str) -> Name {
        if let Some(name) = self.places.get(text) {
            return *name;
        }
        let name = Name(u32::try_from(self.texts.len()).unwrap_or_default());
        let text: Rc<str> = text.into();
        self.octets += text.len();
        self.texts.push(Rc::clone(&text));
        self.places.insert(text, name);
        name
    }

    /// Octets of memory, about.
    pub(crate) const fn size(&self) -> usize {
        self.octets + self.texts.len() * OVERHEAD
    }

    pub(crate) fn text(&self, name: Name) -> &str {
        self.texts.get(name.0 as usize).map_or("", AsRef::as_ref)
    }

    /// The place of each text in alphabetical order, for sorting.
    pub(crate) fn ranks(&self) -> Vec<u32> {
        let mut order: Vec<usize> = (0..self.texts.len()).collect();
        order.sort_by(|a, b| self.texts.get(*a).cmp(&self.texts.get(*b)));
        let mut ranks = vec![0; order.len()];
        for (rank, index) in (0..).zip(order) {
            if let Some(place) = ranks.get_mut(index) {
                *place = rank;
            }
        }
        ranks
    }

    pub(crate) fn rank(name: Name, ranks: &[u32]) -> u32 {
        ranks.get(name.0 as usize).copied().unwrap_or_default()
    }
}
