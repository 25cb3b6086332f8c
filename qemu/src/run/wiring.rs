//! QEMU arguments for an instance in the torus. Free of side effects: file descriptors are passed as numbers.
//!
//! Devices use fixed slots, so that a node finds them without a scan: virtio-mmio slots 0 to 5 are the links of a
//! single node in the order of `Direction::ALL`, PCI slot 1 is the doorbell of a box.

use crate::run::packets::filter_dump;
use midplane_abi::layout::FLASH;
use net_torus::coord::Direction;

/// QEMU's sandbox: it starts no processes, gains no privileges and changes no scheduling, regardless of guest code.
pub const SANDBOX: &str = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny";

/// Returns the device that copies a file to an address before the processor starts.
pub fn loader(file: i32, address: u64) -> String {
    format!("loader,file=/dev/fd/{file},addr={address:#x},force-raw=on")
}

/// Maximum size of translated code in MiB. QEMU's default of 1 GiB would count as used memory on hosts that limit
/// address space.
const TRANSLATION_MIB: u32 = 32;
/// Additional size for each node of a box: QEMU allocates a part for each processor that translates.
const TRANSLATION_MIB_PER_NODE: u32 = 2;

/// Maximum delay of a link device's transmission, in nanoseconds, the largest that QEMU accepts. It is never reached: a
/// node notifies the device again immediately, and the device then transmits on the processor's own thread; see
/// `send_now` in kernel-rt's `dev/virtio_net.rs`. It exceeds the node's own timer, so that it is never the next event.
const SEND_BY_NS: u32 = 4_200_000_000;

/// Nodes of an instance, and their links.
#[derive(Clone, Copy, Debug)]
pub enum InstanceContent<'a> {
    One {
        /// The existing links, each a connected stream socket.
        links: &'a [(Direction, i32)],
        /// Links whose frames are copied, each with a pipe.
        dumps: &'a [(Direction, i32)],
        /// A socket that listens for a debugger; the node does not start without one.
        debugger: Option<i32>,
    },
    /// A box of nodes with links in memory.
    Box {
        /// Number of nodes.
        nodes: u32,
        /// With other instances: a connected stream socket to the doorbell server, and the number of doorbells per
        /// instance.
        doorbell: Option<(i32, u32)>,
    },
}

/// Resources of one QEMU process, with file descriptors by their numbers in that process.
pub struct Wiring<'a> {
    /// Size of the node's RAM in bytes.
    pub memory: u64,
    /// Memory file of the RAM.
    pub ram: i32,
    pub image: i32,
    /// Boot parameter record.
    pub record: i32,
    /// Nodes of the instance.
    pub carries: InstanceContent<'a>,
    /// A connected stream socket for the nodes' doorbell, the UART.
    pub bell: i32,
    /// Whether QEMU's sandbox is enabled.
    pub sandbox: bool,
    /// Whether the processor's instruction counter is exact.
    pub counted: bool,
}

impl Wiring<'_> {
    /// Returns the arguments after the program's name.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        let mut option = |name: &str, value: String| {
            arguments.push(format!("-{name}"));
            arguments.push(value);
        };
        let (machine, nodes) = match self.carries {
            InstanceContent::One { .. } => ("virt", 1),
            // Enables software interrupts; nodes use them to wake each other.
            InstanceContent::Box { nodes, .. } => ("virt,aclint=on", nodes),
        };
        option("machine", format!("{machine},memory-backend=ram"));
        // QEMU before 8.1 omits memory barriers from the code for machines that cannot have a second processor. But the
        // devices run in parallel to the processor: without barriers a frame and a sleeping node miss each other once
        // in some ten thousand ping-pong messages. Exact counting requires one thread: the node's time is the number of
        // instructions, and devices run between two of them.
        let threads = if self.counted { "single" } else { "multi" };
        option(
            "accel",
            format!(
                "tcg,thread={threads},tb-size={}",
                TRANSLATION_MIB + (nodes - 1) * TRANSLATION_MIB_PER_NODE
            ),
        );
        if self.counted {
            option("icount", "shift=0".into());
        }
        option("smp", format!("cpus={nodes},maxcpus={}", nodes.max(2)));
        option("m", format!("size={}B", self.memory));
        option(
            "object",
            format!(
                "memory-backend-file,id=ram,size={}B,mem-path=/dev/fd/{},share=on",
                self.memory, self.ram
            ),
        );
        option("bios", "none".into());
        option("kernel", format!("/dev/fd/{}", self.image));
        option("device", loader(self.record, FLASH));
        option("display", "none".into());
        option("monitor", "none".into());
        option("global", "virtio-mmio.force-legacy=false".into());
        // A notification must be handled before the node continues. QEMU 10.0, unlike 7.2, otherwise passes it to its
        // other thread. That thread merges two notifications, and the device waits for `SEND_BY_NS`.
        option("global", "virtio-mmio.ioeventfd=off".into());
        option("chardev", format!("socket,id=bell,fd={}", self.bell));
        option("serial", "chardev:bell".into());
        if self.sandbox {
            option("sandbox", SANDBOX.into());
        }
        self.add_links(&mut option);
        arguments.extend(["-nodefaults", "-no-user-config", "-no-reboot"].map(String::from));
        if let InstanceContent::One { debugger: Some(_), .. } = self.carries {
            arguments.push("-S".into());
        }
        arguments
    }

    /// Adds the devices that connect nodes to other instances.
    fn add_links(&self, option: &mut dyn FnMut(&str, String)) {
        let (links, dumps) = match self.carries {
            InstanceContent::One { links, dumps, debugger } => {
                if let Some(fd) = debugger {
                    option("chardev", format!("socket,id=gdb,fd={fd},server=on,wait=off"));
                    option("gdb", "chardev:gdb".into());
                }
                (links, dumps)
            }
            InstanceContent::Box { doorbell, .. } => {
                if let Some((fd, bells)) = doorbell {
                    option("chardev", format!("socket,id=doorbell,fd={fd}"));
                    option(
                        "device",
                        format!("ivshmem-doorbell,addr=1.0,vectors={bells},chardev=doorbell"),
                    );
                }
                (&[][..], &[][..])
            }
        };
        for (direction, fd) in links {
            let slot = *direction as u8;
            option("netdev", format!("socket,id=link{slot},fd={fd}"));
            option(
                "device",
                format!(
                    "virtio-net-device,bus=virtio-mmio-bus.{slot},netdev=link{slot},\
                     mac=52:4d:50:00:00:{slot:02x},tx=timer,x-txtimer={SEND_BY_NS}"
                ),
            );
        }
        for (direction, fd) in dumps {
            option("object", filter_dump::object(*direction as u8, *fd));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wired(links: &[(Direction, i32)], sandbox: bool) -> Vec<String> {
        wiring(links, sandbox).arguments()
    }

    fn wiring(links: &[(Direction, i32)], sandbox: bool) -> Wiring<'_> {
        Wiring {
            memory: 8 << 20,
            ram: 10,
            image: 11,
            record: 12,
            carries: InstanceContent::One {
                links,
                dumps: links,
                debugger: None,
            },
            bell: 30,
            sandbox,
            counted: false,
        }
    }

    /// QEMU rejects exact counting with several threads.
    #[test]
    fn instructions_are_counted_by_one_thread() {
        let counted = Wiring {
            counted: true,
            ..wiring(&[], false)
        };
        let counted = counted.arguments();
        assert!(has(&counted, "-icount", "shift=0"));
        assert!(has(&counted, "-accel", "tcg,thread=single,tb-size=32"));
        assert!(!wired(&[], false).contains(&"-icount".into()));
    }

    /// Checks for an option whose value contains `part`.
    fn has(arguments: &[String], option: &str, value: &str) -> bool {
        arguments.windows(2).any(|pair| pair[0] == option && pair[1] == value)
    }

    #[test]
    fn each_link_sits_in_the_slot_of_its_direction() {
        let arguments = wired(&[(Direction::XPlus, 20), (Direction::ZMinus, 25)], false);
        assert!(has(&arguments, "-netdev", "socket,id=link5,fd=25"));
        assert!(has(
            &arguments,
            "-device",
            "virtio-net-device,bus=virtio-mmio-bus.5,netdev=link5,mac=52:4d:50:00:00:05,tx=timer,x-txtimer=4200000000"
        ));
        assert_eq!(arguments.iter().filter(|a| *a == "-netdev").count(), 2);
        let dump = "filter-dump,id=dump5,netdev=link5,queue=rx,file=/dev/fd/25";
        assert!(has(&arguments, "-object", dump));
    }

    #[test]
    fn the_device_acts_on_each_notification_by_itself() {
        assert!(has(&wired(&[], false), "-global", "virtio-mmio.ioeventfd=off"));
    }

    #[test]
    fn boot_parameters_are_in_flash() {
        let file = "loader,file=/dev/fd/12,addr=0x20000000,force-raw=on";
        assert!(has(&wired(&[], false), "-device", file));
    }

    fn of_a_box(nodes: u32, doorbell: Option<(i32, u32)>) -> Vec<String> {
        let mut arguments = Vec::new();
        arguments.extend(
            Wiring {
                memory: 64 << 20,
                ram: 10,
                image: 11,
                record: 12,
                carries: InstanceContent::Box { nodes, doorbell },
                bell: 30,
                sandbox: true,
                counted: false,
            }
            .arguments(),
        );
        arguments
    }

    #[test]
    fn a_box_has_a_processor_for_each_node_and_a_doorbell_if_it_has_company() {
        let alone = of_a_box(1, None);
        assert!(has(&alone, "-smp", "cpus=1,maxcpus=2"), "barriers");
        assert!(!alone.iter().any(|a| a.contains("ivshmem") || a.contains("net")));
        let arguments = of_a_box(256, Some((40, 256)));
        assert!(has(&arguments, "-smp", "cpus=256,maxcpus=256"));
        assert!(has(&arguments, "-machine", "virt,aclint=on,memory-backend=ram"));
        assert!(has(&arguments, "-chardev", "socket,id=doorbell,fd=40"));
        let device = "ivshmem-doorbell,addr=1.0,vectors=256,chardev=doorbell";
        assert!(has(&arguments, "-device", device));
    }

    #[test]
    fn the_bell_is_the_uart() {
        let arguments = wired(&[], false);
        assert!(has(&arguments, "-serial", "chardev:bell"));
        assert!(has(&arguments, "-chardev", "socket,id=bell,fd=30"));
    }

    #[test]
    fn qemu_locks_itself_in_where_it_can() {
        assert!(has(&wired(&[], true), "-sandbox", SANDBOX));
        assert!(!wired(&[], false).contains(&"-sandbox".into()));
    }
}
