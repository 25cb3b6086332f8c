//! The MPI device that a personality specifies.
#![forbid(unsafe_code)]

use midplane_abi::boot_error::DeviceFailure;
use midplane_abi::personality::Personality;
use midplane_device::envelope::Rank;
use midplane_device::matching::EngineKind;
use midplane_device::{Adi, DeviceConfig, DeviceMemory};

/// Creates the device of the node `who` with this matching engine, using memory of the heap; `seed` seeds its hash
/// tables.
#[cfg(not(target_arch = "arm"))]
pub fn device(who: &Personality, kind: &EngineKind, seed: u64) -> Result<Adi, DeviceFailure> {
    let (config, memory) = parts(who, kind)?;
    let mut adi = Adi::new(config, memory).ok_or(no_place(who))?;
    prepare(&mut adi, who, seed);
    Ok(adi)
}

/// Creates the device directly in the heap: the stack has no space for more than one device.
#[cfg(target_arch = "arm")]
pub fn boxed_device(who: &Personality, kind: &EngineKind, seed: u64) -> Result<alloc::boxed::Box<Adi>, DeviceFailure> {
    let (config, memory) = parts(who, kind)?;
    let mut adi = Adi::new_boxed(config, memory).ok_or(no_place(who))?;
    prepare(&mut adi, who, seed);
    Ok(adi)
}

// Not inlined, so that it frees its stack.
#[inline(never)]
fn parts(who: &Personality, kind: &EngineKind) -> Result<(DeviceConfig, DeviceMemory), DeviceFailure> {
    let peers = who.shape.nodes();
    let memory = DeviceMemory::with_engine(kind, who.mpi_memory as usize, peers as usize)
        .and_then(|memory| memory.with_values(&who.shape))
        .map_err(|_| DeviceFailure::Memory(who.mpi_memory))?;
    let config = DeviceConfig {
        shape: who.shape,
        rank: Rank::new(who.rank),
        // The heap is exhausted earlier.
        request_slots: midplane_device::request::MAX_SLOTS,
    };
    Ok((config, memory))
}

fn no_place(who: &Personality) -> DeviceFailure {
    DeviceFailure::Rank {
        rank: who.rank,
        peers: who.shape.nodes(),
    }
}

fn prepare(adi: &mut Adi, who: &Personality, seed: u64) {
    adi.seed(seed);
    if let Some(bytes) = who.eager {
        adi.set_eager_limit(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
}
