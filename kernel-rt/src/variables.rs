//! MPI_T performance variables of a node's counters (MPI-3.1 section 14.3): the list of [`midplane_abi::counters`], in
//! its order.
//!
//! The C binding finds the function by its symbol, so an image contains the list's texts only if its program calls
//! MPI_T.

use midplane_abi::counters::{Counter, CounterTotal};
use midplane_device::kernel::HostCounter;

/// Returns the description of counter `index`, or `None` if the index is out of range.
#[unsafe(no_mangle)]
pub extern "Rust" fn midplane_counter(index: usize) -> Option<HostCounter> {
    let about = Counter::ALL.get(index)?.about();
    Some(HostCounter {
        name: about.name,
        meaning: about.meaning,
        unit: about.unit.name(),
        is_peak: about.total == CounterTotal::Max,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_is_told_of() {
        let told = (0..).map_while(midplane_counter).count();
        assert_eq!(told, Counter::COUNT);
        let peak = midplane_counter(Counter::RequestsPeak as usize);
        assert!(peak.is_some_and(|counted| counted.is_peak && counted.unit == "requests"));
    }
}
