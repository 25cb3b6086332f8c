//! The MPI device that a personality asks for.
#![forbid(unsafe_code)]

use midplane_abi::boot_error::NoDevice;
use midplane_abi::personality::Personality;
use midplane_device::envelope::Rank;
use midplane_device::matching::EngineKind;
use midplane_device::{Adi, Config, Memory};

/// Makes the device of the node `who` with this kind of matching engine, over memory of the heap; `seed` is for its tables.
#[cfg(not(target_arch = "arm"))]
pub fn device(who: &Personality, kind: &EngineKind, seed: u64) -> Result<Adi, NoDevice> {
    let (config, memory) = parts(who, kind)?;
    let mut adi = Adi::new(config, memory).ok_or(no_place(who))?;
    prepare(&mut adi, who, seed);
    Ok(adi)
}

/// As `device` elsewhere, in the heap itself: the stack has no room for more than one device.
#[cfg(target_arch = "arm")]
pub fn boxed_device(
    who: &Personality,
    kind: &EngineKind,
    seed: u64,
) -> Result<alloc::boxed::Box<Adi>, NoDevice> {
    let (config, memory) = parts(who, kind)?;
    let mut adi = Adi::boxed(config, memory).ok_or(no_place(who))?;
    prepare(&mut adi, who, seed);
    Ok(adi)
}

// Not inlined, so that it gives its stack back.
#[inline(never)]
fn parts(who: &Personality, kind: &EngineKind) -> Result<(Config, Memory), NoDevice> {
    let peers = who.shape.nodes();
    let memory = Memory::with_engine(kind, who.mpi_memory as usize, peers as usize)
        .and_then(|memory| memory.with_values(&who.shape))
        .map_err(|_| NoDevice::Memory(who.mpi_memory))?;
    let config = Config {
        shape: who.shape,
        rank: Rank::new(who.rank),
        // The heap ends sooner.
        request_slots: midplane_device::request::MAX_SLOTS,
    };
    Ok((config, memory))
}

fn no_place(who: &Personality) -> NoDevice {
    NoDevice::Place {
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
