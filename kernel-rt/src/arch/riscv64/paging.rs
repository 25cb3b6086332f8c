//! Page tables (Sv39: The RISC-V Instruction Set Manual, volume II, "Sv39: Page-Based 39-bit Virtual-Memory
//! System"). Pure; tested on the host.
#![forbid(unsafe_code)]

use midplane_abi::address::PAGE;

/// A table of any level.
pub type PageTable = [u64; 512];

/// Permitted accesses to mapped memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageAccess {
    /// Load.
    Read,
    /// Load and store.
    ReadWrite,
    /// Load and execute.
    ReadExecute,
}

/// Number of table levels; the root is the last.
const LEVELS: u32 = 3;
const VALID: u64 = 1;
/// Permission bits, set in an entry that maps memory instead of a table.
const LEAF: u64 = 2 | 4 | 8;
/// Accessed and dirty bits, preset so that the processor need not update them.
const USED: u64 = 1 << 6 | 1 << 7;
/// Sv39, in `satp`.
const MODE: u64 = 8 << 60;

impl PageAccess {
    fn bits(self) -> u64 {
        match self {
            PageAccess::Read => 2,
            PageAccess::ReadWrite => 2 | 4,
            PageAccess::ReadExecute => 2 | 8,
        }
    }
}

/// Error: no table is left for an entry, or the memory is mapped already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapError;

/// The tables of one address space.
pub struct PageTables<'a> {
    tables: &'a mut [PageTable],
    physical: u64,
    used: usize,
}

/// Returns the bytes that an entry of this level maps.
const fn size(level: u32) -> u64 {
    PAGE << (9 * level)
}

fn index(address: u64, level: u32) -> usize {
    (address / size(level) % 512) as usize
}

impl<'a> PageTables<'a> {
    /// Creates empty tables at the physical address `physical`, a multiple of [`PAGE`]. Returns `None` if there is no
    /// space for a root.
    pub fn new(tables: &'a mut [PageTable], physical: u64) -> Option<Self> {
        tables.first_mut()?.fill(0);
        Some(Self {
            tables,
            physical,
            used: 1,
        })
    }

    /// Maps `bytes` bytes at the address `address`, below 2^38, to `physical`. All are multiples of [`PAGE`].
    ///
    /// # Errors
    /// If the tables are used up, or a part of the range is mapped already.
    pub fn map(&mut self, address: u64, physical: u64, bytes: u64, access: PageAccess) -> Result<(), MapError> {
        let mut done = 0;
        while done < bytes {
            let (from, to) = (address + done, physical + done);
            let fits = |level: &u32| {
                let size = size(*level);
                from % size == 0 && to % size == 0 && size <= bytes - done
            };
            let level = (0..LEVELS).rev().find(fits).ok_or(MapError)?;
            let entry = self.entry(from, level)?;
            if *entry != 0 {
                return Err(MapError);
            }
            *entry = (to / PAGE) << 10 | USED | access.bits() | VALID;
            done += size(level);
        }
        Ok(())
    }

    /// Returns the entry of `level` for an address; creates the tables on the path to it.
    fn entry(&mut self, address: u64, level: u32) -> Result<&mut u64, MapError> {
        let mut table = 0;
        for above in (level + 1..LEVELS).rev() {
            let at = index(address, above);
            let entry = self.tables[table][at];
            table = if entry == 0 {
                let new = self.used;
                self.tables.get_mut(new).ok_or(MapError)?.fill(0);
                self.used += 1;
                let address = self.physical + new as u64 * PAGE;
                self.tables[table][at] = (address / PAGE) << 10 | VALID;
                new
            } else if entry & LEAF != 0 {
                return Err(MapError);
            } else {
                ((entry >> 10) - self.physical / PAGE) as usize
            };
        }
        Ok(&mut self.tables[table][index(address, level)])
    }

    /// Returns the value of `satp` that selects these tables.
    pub fn satp(&self) -> u64 {
        MODE | (self.physical / PAGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u64 = 0x8030_0000;

    /// Translates an address by the manual's algorithm.
    fn translate(tables: &PageTables<'_>, address: u64) -> Option<(u64, u64)> {
        let mut table = (tables.satp() & ((1 << 44) - 1)) * PAGE;
        for level in (0..LEVELS).rev() {
            let entry = tables.tables[((table - AT) / PAGE) as usize][index(address, level)];
            if entry & VALID == 0 {
                return None;
            }
            let physical = (entry >> 10) * PAGE;
            if entry & LEAF != 0 {
                assert_eq!(physical % size(level), 0, "misaligned large page");
                return Some((physical + address % size(level), entry & LEAF));
            }
            table = physical;
        }
        None
    }

    #[test]
    fn each_byte_is_where_it_was_mapped_and_its_neighbours_are_not() {
        let mut memory = vec![[u64::MAX; 512]; 16];
        let mut tables = PageTables::new(&mut memory, AT).expect("a root");
        let parts = [
            // A large page in the middle, small ones at both ends.
            (0x8000_1000, 0x8000_1000, 0x5f_f000, PageAccess::ReadWrite),
            // Different offsets from a large page's start: small ones only.
            (0x8060_1000, 0x9000_0000, 0x20_0000, PageAccess::ReadExecute),
            (0x1000_0000, 0x1000_0000, 0x1000, PageAccess::ReadWrite),
            (0x1_0000_0000, 0x8123_4000, 0x1_1000, PageAccess::Read),
            // A page of the third level.
            (0x40_0000_0000 - (1 << 30), 0x8000_0000, 1 << 30, PageAccess::Read),
        ];
        for (address, physical, bytes, access) in parts {
            assert_eq!(tables.map(address, physical, bytes, access), Ok(()));
        }
        for (address, physical, bytes, access) in parts {
            for at in [0, 8, 0xfff, bytes / 2, bytes - 1] {
                let to = translate(&tables, address + at);
                assert_eq!(to, Some((physical + at, access.bits())), "{address:#x} {at:#x}");
            }
            assert_eq!(translate(&tables, address - 1), None);
            let end = address + bytes;
            assert!(end == 1 << 38 || translate(&tables, end).is_none(), "{end:#x}");
        }
        assert_eq!(translate(&tables, 0), None);
    }

    #[test]
    fn what_cannot_be_mapped_is_refused() {
        assert!(PageTables::new(&mut [], AT).is_none());
        let mut memory = vec![[0; 512]; 3];
        let mut tables = PageTables::new(&mut memory, AT).expect("a root");
        let map = |tables: &mut PageTables<'_>, address, bytes| tables.map(address, address, bytes, PageAccess::Read);
        assert_eq!(map(&mut tables, 0x1000, 0x3000), Ok(()));
        assert_eq!(map(&mut tables, 0x3000, 0x1000), Err(MapError), "twice");
        assert_eq!(map(&mut tables, 0x20_0000, 0x20_0000), Ok(()), "no new table");
        assert_eq!(map(&mut tables, 0x20_1000, 0x1000), Err(MapError));
        assert_eq!(map(&mut tables, 0x40_0000, 0x1000), Err(MapError), "used up");
        assert_eq!(map(&mut tables, 0x1800, 0x1000), Err(MapError), "no page");
    }
}
