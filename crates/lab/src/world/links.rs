//! The links between hosts, under their positions in the plan.

use super::Link;
use std::ops::{Index, IndexMut};

/// Links by their positions in the plan; those that lead to switches are cables of the fabric and not here.
pub(crate) struct Links(Vec<Option<Link>>);

impl Links {
    pub(crate) fn new(links: Vec<Option<Link>>) -> Links {
        Links(links)
    }

    /// How many links the plan has.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The link at a position in the plan, if it is here.
    pub(crate) fn get(&self, at: usize) -> Option<&Link> {
        self.0.get(at)?.as_ref()
    }

    /// Those that are here, with their positions.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Link)> {
        self.0.iter().enumerate().filter_map(|(at, link)| Some((at, link.as_ref()?)))
    }
}

impl Index<usize> for Links {
    type Output = Link;

    fn index(&self, at: usize) -> &Link {
        self.0[at].as_ref().expect("a link between hosts")
    }
}

impl IndexMut<usize> for Links {
    fn index_mut(&mut self, at: usize) -> &mut Link {
        self.0[at].as_mut().expect("a link between hosts")
    }
}
