//! Boot of a node, from its first instruction to the program.
//!
//! Boot order: boot parameters, output, memory plan, heap, links, router, device, interrupts, program. A failure on the
//! way is reported on the blackboard as [`End::Boot`].

use midplane_abi::address::AddressRange;
use midplane_abi::boot_parameters::{BootParameters, InstanceNodes, OutputTarget};
use midplane_abi::failure::BootFailure;
use midplane_abi::personality::{LOGS, Personality};
use midplane_device::Adi;
use net_torus::router::{ConfigError, Router};
use net_torus::torus::Torus;

use super::links::NodeLinks;
use super::machine::{self, MachineInfo};
use super::neighbours::{BoxMachine, own_word};
use super::platform::{BoardNode, VirtPlatform, WireLink};
#[cfg(feature = "options")]
use super::slots::NetDevices;
#[cfg(not(feature = "options"))]
use super::slots_stub::NetDevices;
use super::{timer, traps};
use crate::abort;
use crate::board::device::device;
use crate::board::start::{boot_failed, leak, or_fail, strings};
use crate::board::{hot_path, matching};
use crate::console;
use crate::dev::ring::SleepFlag;
use crate::heap_loan::NodeMemory;
use crate::memory_plan::{MPI_SHARE, MemoryNeeds, MemoryPlan, ROUTER};
use crate::records::{MIDPLANE_BLACKBOARD, set_personality};
use crate::running;
use crate::{arch, clock, heap, libc, log};

/// Boots a node from its first instruction to the program. `hart`: the ID of its hart, from 0.
#[unsafe(no_mangle)]
extern "C" fn midplane_boot(hart: usize) -> ! {
    MIDPLANE_BLACKBOARD.begin();
    let found = machine::machine_info();
    traps::set_ram(found.node_memory());
    let hardware = match &found.hardware {
        Ok(hardware) => hardware,
        Err(why) => boot_failed(BootFailure::Tree(*why)),
    };
    clock::set(hardware.clock_hz, found.calendar_ns, found.ticks);
    let boot = or_fail(BootParameters::read(found.record));
    let who = identify(hart, found, &boot);
    set_personality(who);
    if let OutputTarget::Rings { log } = boot.output {
        console::attach(hart as u8);
        if LOGS && log {
            log::enable();
        }
    }
    MIDPLANE_BLACKBOARD.set_rank(who.rank);
    MIDPLANE_BLACKBOARD.set_matching(matching::kind().name);
    or_fail(boot.check_matching(matching::kind().name));

    timer::start(cfg!(feature = "options") && found.machine.is_none());
    arch::arm_interrupts();
    let devices = match found.machine {
        Some(_) => NetDevices::none(),
        None => NetDevices::find(hardware, &who),
    };
    let plan = divide_memory(found.node_memory(), &who, &devices);
    // SAFETY: the plan's parts are RAM behind the image and do not overlap; each is handed out here only.
    unsafe { heap::init(plan.heap) }
    let (links, greetings) = match &found.machine {
        Some(machine) => (ring_links(machine, &who, boot.seal), 0),
        // SAFETY: as above.
        None => unsafe { devices.links(&plan) },
    };
    if LOGS {
        defmt::info!(
            "rank {=u32} at ({=u8},{=u8},{=u8}) up: {=usize} links, {=u32} greetings, heap {=u64} KiB, \
             MPI memory {=u64} bytes",
            who.rank,
            who.coord.x,
            who.coord.y,
            who.coord.z,
            links.iter().flatten().count(),
            greetings,
            plan.heap.len() / 1024,
            who.mpi_memory
        );
    }
    let watched = match found.machine {
        // SAFETY: `midplane_map` has called `map` for this node.
        Some(_) if boot.watch => Some(unsafe { own_word() }),
        _ => None,
    };
    let links = wires(links, &boot, &who);
    running::set(node(&who, hardware.random, links, watched));
    if cfg!(feature = "borrow") {
        heap::call_when_freed(hot_path::heap_freed);
    }
    abort::publish_with(hot_path::publish);
    let program = boot.programs.for_rank(who.rank);
    let argv = strings(program.arguments, 1);
    let environment = strings(program.environment, 0);
    arch::enable_interrupts();
    midplane_objects::installed::set_appnum(program.number);
    midplane_objects::installed::install(hot_path::env());
    MIDPLANE_BLACKBOARD.running();
    if let Some(machine) = &found.machine {
        machine.call_next(hart as u32);
    }
    console::ring();
    // SAFETY: the only call, with everything set up; the arguments live forever.
    unsafe { libc::run(argv, environment) }
}

fn divide_memory(memory: AddressRange, who: &Personality, devices: &NetDevices) -> MemoryPlan {
    let mpi_bytes = usize::try_from(who.mpi_memory).unwrap_or(usize::MAX);
    let budget = midplane_device::MemoryBudget::with_engine(matching::kind(), mpi_bytes, who.shape.nodes() as usize)
        .with_values(&who.shape);
    let tables = ROUTER.bytes() + budget.total() - budget.region;
    let needs = MemoryNeeds {
        links: devices.count(),
        mpi: who.mpi_memory,
        tables: tables as u64,
    };
    or_fail(MemoryPlan::new(memory, arch::image_end() as u64, needs))
}

/// Creates the node: router, torus and MPI device over `links`. `random` seeds its hash tables; `watched` is the word
/// that it watches before it sleeps.
///
/// The stack has space for a copy of each part, but the image should not contain code that copies their fields one by
/// one. Hence each part has a function that is not inlined. The router's function returns an unwrapped result for the
/// same reason.
fn node(who: &Personality, random: u64, links: NodeLinks<WireLink>, watched: Option<&'static SleepFlag>) -> BoardNode {
    let torus = torus(or_fail(router(who)), links);
    let memory = NodeMemory { lends: who.mpi_borrow };
    // If the machine has no random bits, the time of day is unknown to a program's author.
    let adi = adi(who, random ^ clock::wall_clock_ns());
    build_torus(
        adi,
        torus,
        VirtPlatform {
            memory,
            watched,
            vain_looks: 0,
        },
    )
    .limit_interrupts(who.interrupts)
}

#[inline(never)]
fn router(who: &Personality) -> Result<Router<'static>, ConfigError> {
    let chunks = leak(ROUTER.chunks());
    Router::with_exact_links(who.shape, who.coord, ROUTER, chunks)
}

#[inline(never)]
fn torus(router: Router<'static>, links: NodeLinks<WireLink>) -> Torus<'static, WireLink> {
    or_fail(Torus::new(router, links))
}

#[inline(never)]
fn adi(who: &Personality, seed: u64) -> Adi {
    or_fail(device(who, matching::kind(), seed))
}

#[inline(never)]
fn build_torus(adi: Adi, torus: Torus<'static, WireLink>, platform: VirtPlatform) -> BoardNode {
    BoardNode::new(adi, torus, platform)
}

#[cfg(not(feature = "faults"))]
fn wires(links: NodeLinks, _: &BootParameters<'_>, _: &Personality) -> NodeLinks<WireLink> {
    links
}

/// Creates the links with the faults that the boot parameters specify.
#[cfg(feature = "faults")]
fn wires(links: NodeLinks, boot: &BootParameters<'_>, who: &Personality) -> NodeLinks<WireLink> {
    use crate::dev::faults::{self, RETRIES, WINDOW};
    use net_torus::link::Link;
    use net_torus::reliable::RetryConfig;
    /// An emulated neighbour may not run for a while.
    const TIMEOUT_NS: u64 = 20_000_000;
    let faults = faults::requested_faults(boot);
    let mut directions = net_torus::Direction::ALL.into_iter();
    links.map(|link| {
        let direction = directions.next()?;
        let link = link?;
        let memory = leak(faults::memory(link.mtu(), WINDOW));
        let retry = RetryConfig {
            timeout_ns: TIMEOUT_NS,
            retries: RETRIES,
        };
        Some(or_fail(faults::repaired_link(
            link, &faults, retry, &who.shape, who.coord, direction, memory,
        )))
    })
}

fn identify(hart: usize, found: &MachineInfo, boot: &BootParameters<'_>) -> Personality {
    if let (InstanceNodes::Box(boxed), None) = (boot.nodes, &found.machine) {
        let nodes = boxed.nodes().nodes();
        let bytes = boxed.node_memory;
        boot_failed(BootFailure::Nodes { nodes, bytes });
    }
    let coord = boot.nodes.coord(hart as u32);
    let Some((coord, rank)) = coord.and_then(|c| Some((c, boot.shape.rank(c)?))) else {
        // `BootParameters::read` has rejected coordinates outside the shape.
        boot_failed(BootFailure::Outside);
    };
    let memory = found.node_memory().len();
    Personality {
        shape: boot.shape,
        coord,
        rank,
        clock_hz: found.hardware.as_ref().map_or(1, |h| h.clock_hz),
        memory,
        mpi_memory: boot.mpi_memory.unwrap_or(memory / MPI_SHARE),
        mpi_borrow: boot.mpi_borrow,
        eager: boot.eager,
        interrupts: boot.interrupts.unwrap_or(100),
        exit: boot.exit,
    }
}

/// Creates the links of a node of a box. They require no handshake: frames that a neighbour sends early wait in its
/// rings. `seal`: seals cover complete frames.
fn ring_links(machine: &BoxMachine, who: &Personality, seal: bool) -> NodeLinks {
    if machine.is_cut_off(who.coord) {
        boot_failed(BootFailure::NoDoorbell(machine.boxed.instance));
    }
    // SAFETY: the only call, and `midplane_map` has called `map` for this node.
    let links = unsafe { machine.links(who.coord, seal) };
    #[cfg(feature = "options")]
    let links = links.map(|link| link.map(super::links::BoardLink::Ring));
    links
}
