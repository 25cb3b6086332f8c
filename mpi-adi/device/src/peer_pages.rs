//! Pages of the table of [`peers`](super::peers), and the preallocated ones.
#![forbid(unsafe_code)]

use alloc::boxed::Box;

use crate::peer_group::{GROUP_PEERS, GroupBits, PAGE_PEERS, PREALLOCATED_PAGES, PeerAges};
use crate::try_box::try_boxed_slice;

/// Groups of a page.
const PAGE_GROUPS: usize = PAGE_PEERS / GROUP_PEERS;

/// State of [`PAGE_PEERS`] peers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct PeerPage {
    bits: [GroupBits; PAGE_GROUPS],
    ages: [PeerAges; PAGE_PEERS],
}

/// A page in the heap. An array of one is the only form of a one-word box that can be allocated without a panic.
type PageBox = Box<[PeerPage; 1]>;

impl PeerPage {
    /// Allocates a page of peers in the initial state; returns `None` when the heap is full.
    fn allocate() -> Option<PageBox> {
        let page = PeerPage {
            bits: [GroupBits::default(); PAGE_GROUPS],
            ages: [PeerAges { to: 0, from: 0 }; PAGE_PEERS],
        };
        try_boxed_slice(page, 1)?.try_into().ok()
    }
}

/// Pages of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PeerPages {
    all: Box<[Option<PageBox>]>,
    /// Number of unallocated pages.
    missing: u32,
    stock: heapless::Vec<PageBox, PREALLOCATED_PAGES>,
}

impl core::hash::Hash for PeerPages {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.all.hash(state);
    }
}

impl PeerPages {
    /// Returns the number of peers in the array, and the number of pages, for `peers` peers, 1 or more.
    pub(super) const fn parts(peers: usize) -> (usize, usize) {
        if peers > PAGE_PEERS {
            (0, peers.div_ceil(PAGE_PEERS))
        } else {
            (peers, 0)
        }
    }

    /// Creates a table of `count` pages, with only the preallocated ones; returns `None` when the heap is full.
    pub(super) fn allocate(count: usize) -> Option<PeerPages> {
        let mut pages = PeerPages {
            all: try_boxed_slice(None, count)?,
            missing: count as u32,
            stock: heapless::Vec::new(),
        };
        pages.preallocate_pages();
        (pages.stock.len() == Self::preallocated_count(count)).then_some(pages)
    }

    const fn preallocated_count(missing: usize) -> usize {
        if missing < PREALLOCATED_PAGES {
            missing
        } else {
            PREALLOCATED_PAGES
        }
    }

    /// Returns the bytes of `count` pages, with only the preallocated ones.
    pub(super) const fn bytes(count: usize) -> usize {
        Self::bytes_with(count, Self::preallocated_count(count))
    }

    /// Returns the bytes of `count` pages, all allocated.
    pub(super) const fn max_bytes(count: usize) -> usize {
        Self::bytes_with(count, count)
    }

    const fn bytes_with(count: usize, there: usize) -> usize {
        count * size_of::<Option<PageBox>>() + there * size_of::<PeerPage>()
    }

    /// Returns the current bytes, including preallocated pages.
    pub(super) fn bytes_now(&self) -> usize {
        let there = self.all.len() - self.missing as usize + self.stock.len();
        Self::bytes_with(self.all.len(), there)
    }

    /// Returns the number of packets, from any sources, that can be received before [`PeerPages::preallocate_pages`].
    #[inline]
    pub(super) fn packets(&self) -> usize {
        match self.missing {
            0 => usize::MAX,
            _ => self.stock.len(),
        }
    }

    /// Preallocates pages for packets, as far as the heap has space.
    #[inline]
    pub(super) fn preallocate_pages(&mut self) {
        if self.stock.len() < Self::preallocated_count(self.missing as usize) {
            self.allocate_pages();
        }
    }

    #[cold]
    fn allocate_pages(&mut self) {
        while self.stock.len() < Self::preallocated_count(self.missing as usize)
            && let Some(page) = PeerPage::allocate()
        {
            // Cannot fail: the vector is not full.
            let _ = self.stock.push(page);
        }
    }

    /// Returns the bits of a group; `None` when its page is not allocated.
    #[inline]
    pub(super) fn bits(&self, group: usize) -> Option<GroupBits> {
        let page = self.all.get(group / PAGE_GROUPS)?.as_ref()?;
        Some(page[0].bits[group % PAGE_GROUPS])
    }

    pub(super) fn bits_mut(&mut self, group: usize) -> &mut GroupBits {
        &mut self.page_mut(group / PAGE_GROUPS).bits[group % PAGE_GROUPS]
    }

    /// Returns the ages of a peer, also when its page is not allocated.
    pub(super) fn ages(&self, peer: usize) -> PeerAges {
        let page = self.all[peer / PAGE_PEERS].as_ref();
        page.map_or_else(PeerAges::default, |page| page[0].ages[peer % PAGE_PEERS])
    }

    pub(super) fn ages_mut(&mut self, peer: usize) -> &mut PeerAges {
        &mut self.page_mut(peer / PAGE_PEERS).ages[peer % PAGE_PEERS]
    }

    /// Returns a page; uses a preallocated one on first access.
    fn page_mut(&mut self, page: usize) -> &mut PeerPage {
        let (stock, missing) = (&mut self.stock, &mut self.missing);
        let [page] = &mut **self.all[page].get_or_insert_with(|| {
            *missing -= 1;
            stock.pop().expect("a page in stock for each packet")
        });
        page
    }
}
