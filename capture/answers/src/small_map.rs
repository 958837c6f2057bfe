//! A map of up to a thousand keys or so, in the order of the keys. The entries are in a vector: a B-tree takes ten times as long to
//! compile, and there are dozens of such maps.

use std::borrow::Borrow;
use std::vec;

/// A map in the order of its keys.
#[derive(Clone, Debug)]
pub(crate) struct SmallMap<K, V>(Vec<(K, V)>);

impl<K, V> Default for SmallMap<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord, V> SmallMap<K, V> {
    /// The place of a key, or the place for the key.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.0.binary_search_by(|(known, _)| known.borrow().cmp(key))
    }

    /// The value of a key, which is made if the map has no such key yet. `None` if the map has `most` other keys.
    pub(crate) fn value_or(&mut self, key: K, most: usize, make: impl FnOnce() -> V) -> Option<&mut V> {
        let place = match self.find(&key) {
            Ok(place) => place,
            Err(_) if self.0.len() >= most => return None,
            Err(place) => {
                self.0.insert(place, (key, make()));
                place
            }
        };
        self.0.get_mut(place).map(|(_, value)| value)
    }

    /// The value of a key. `None` if the map has `most` other keys.
    pub(crate) fn value(&mut self, key: K, most: usize) -> Option<&mut V>
    where
        V: Default,
    {
        self.value_or(key, most, V::default)
    }

    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.0.get(self.find(key).ok()?).map(|(_, value)| value)
    }

    pub(crate) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        self.0.get_mut(place).map(|(_, value)| value)
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.find(key).ok().map(|place| self.0.remove(place).1)
    }
}

impl<K: Ord> SmallMap<K, u64> {
    /// Adds an amount to that of a key. Returns false if the map has `most` other keys.
    pub(crate) fn add_amount(&mut self, key: K, amount: u64, most: usize) -> bool {
        self.value(key, most).map(|sum| *sum = sum.saturating_add(amount)).is_some()
    }
}

impl<K, V> SmallMap<K, V> {
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The key and the value of a map with one key.
    pub(crate) fn only(&self) -> Option<(&K, &V)> {
        match self.0.as_slice() {
            [(key, value)] => Some((key, value)),
            _ => None,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }
}

impl<K, V> IntoIterator for SmallMap<K, V> {
    type Item = (K, V);
    type IntoIter = vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_order_and_at_most_so_many() {
        let mut map = SmallMap::default();
        for (key, is_taken) in [("m", true), ("a", true), ("z", true), ("b", false), ("a", true)] {
            assert_eq!(map.add_amount(key, 1, 3), is_taken, "{key}");
        }
        assert_eq!(map.iter().collect::<Vec<_>>(), [(&"a", &2), (&"m", &1), (&"z", &1)]);
        assert_eq!((map.get("m"), map.get("b"), map.only()), (Some(&1), None, None));
        assert_eq!((map.remove(&"m"), map.remove(&"m"), map.remove(&"z"), map.len()), (Some(1), None, Some(1), 1));
        assert_eq!(map.only(), Some((&"a", &2)));
        assert_eq!(map.into_iter().collect::<Vec<_>>(), [("a", 2)]);
    }
}
