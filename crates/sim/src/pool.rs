//! The idle containers: which to reuse, which to evict, which have expired. Every operation takes constant time.

use scale_model::{FunctionId, NodeId, Platform, Time};

/// An idle container.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Idle {
    /// Where it is.
    pub node: NodeId,
    /// What it runs.
    pub function: FunctionId,
    /// Since when it has been idle.
    pub since: Time,
}

/// All idle containers.
///
/// Each is in three lists: one of all containers (for expiry), one of its node (for eviction), one of its function on
/// its node (for reuse). Containers become idle in order of time, so every list is sorted by `since` if new ones join at
/// the end; the first is the least and the last the most recently used.
#[derive(Clone)]
pub struct IdlePool {
    nodes: usize,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// The list of all, then one a node, then one a function and node.
    lists: Vec<Ends>,
    len: usize,
}

#[derive(Clone, Copy)]
struct Entry {
    idle: Idle,
    links: [Ends; LISTS],
}

/// First and last of a list, or previous and next of an entry.
#[derive(Clone, Copy)]
struct Ends {
    first: u32,
    last: u32,
}

const LISTS: usize = 3;
const NONE: u32 = u32::MAX;
const EMPTY: Ends = Ends { first: NONE, last: NONE };

impl IdlePool {
    /// An empty pool.
    #[must_use]
    pub fn new(platform: &Platform) -> IdlePool {
        let nodes = platform.topology.nodes.len();
        let lists = vec![EMPTY; 1 + nodes + nodes * platform.functions.len()];
        IdlePool { nodes, entries: Vec::new(), free: Vec::new(), lists, len: 0 }
    }

    /// How many containers are idle.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is idle.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A container becomes idle. `since` must not be before that of any container added earlier.
    pub fn push(&mut self, idle: Idle) {
        let entry = Entry { idle, links: [EMPTY; LISTS] };
        let index = match self.free.pop() {
            Some(index) => {
                self.entries[index as usize] = entry;
                index
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        for (slot, list) in self.lists_of(idle).into_iter().enumerate() {
            let last = std::mem::replace(&mut self.lists[list].last, index);
            self.entries[index as usize].links[slot].first = last;
            match last {
                NONE => self.lists[list].first = index,
                last => self.entries[last as usize].links[slot].last = index,
            }
        }
        self.len += 1;
    }

    /// Takes the container of the function on the node that became idle last.
    pub fn reuse(&mut self, function: FunctionId, node: NodeId) -> Option<Idle> {
        self.remove(self.lists[self.pair(function, node)].last)
    }

    /// Takes the container on the node that has been idle for longest.
    pub fn evict(&mut self, node: NodeId) -> Option<Idle> {
        self.remove(self.lists[1 + node.index()].first)
    }

    /// The container that has been idle for longest of all.
    pub fn oldest(&self) -> Option<Idle> {
        let first = self.lists[0].first;
        (first != NONE).then(|| self.entries[first as usize].idle)
    }

    /// Takes the container that has been idle for longest of all.
    pub fn expire(&mut self) -> Option<Idle> {
        self.remove(self.lists[0].first)
    }

    fn remove(&mut self, index: u32) -> Option<Idle> {
        if index == NONE {
            return None;
        }
        let Entry { idle, links } = self.entries[index as usize];
        for (slot, list) in self.lists_of(idle).into_iter().enumerate() {
            let Ends { first: before, last: after } = links[slot];
            match before {
                NONE => self.lists[list].first = after,
                before => self.entries[before as usize].links[slot].last = after,
            }
            match after {
                NONE => self.lists[list].last = before,
                after => self.entries[after as usize].links[slot].first = before,
            }
        }
        self.free.push(index);
        self.len -= 1;
        Some(idle)
    }

    fn lists_of(&self, idle: Idle) -> [usize; LISTS] {
        [0, 1 + idle.node.index(), self.pair(idle.function, idle.node)]
    }

    fn pair(&self, function: FunctionId, node: NodeId) -> usize {
        1 + self.nodes + function.index() * self.nodes + node.index()
    }
}
