//! An instance's place in the torus, as arguments for QEMU. Pure: file descriptors come in as numbers.
//!
//! The slots are pinned so that a node finds its devices without guessing: virtio-mmio slots 0 to 5 are
//! the links of a single node in the order of `Direction::ALL`, PCI slot 1 the doorbell of a box.

use midplane_abi::layout::FLASH;
use net_torus::coord::Direction;

/// QEMU's own sandbox: it starts no process, gains no rights and changes no scheduling, whatever runs in it.
pub const SANDBOX: &str = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny";

/// The device that puts a file's bytes to an address before the processor starts.
pub fn loader(file: i32, address: u64) -> String {
    format!("loader,file=/dev/fd/{file},addr={address:#x},force-raw=on")
}

/// Greatest room for translated code in MiB; QEMU's own default of 1 GiB would be taken as used memory
/// by hosts that limit address space.
const TRANSLATION_MIB: u32 = 32;
/// The same for each node of a box, beside that: QEMU gives each processor that translates a part of its own.
const TRANSLATION_MIB_PER_NODE: u32 = 2;

/// How long a link's device may put off sending, in nanoseconds, as long as QEMU takes. It never does: a node
/// always asks again at once, on which the device sends on the processor's own thread; see `send_now` in
/// kernel-rt's `dev/virtio_net.rs`. Beyond the node's own timer, so that this one is never the next.
const SEND_BY_NS: u32 = 4_200_000_000;

/// What nodes an instance carries, and their links.
#[derive(Clone, Copy, Debug)]
pub enum Carries<'a> {
    /// One.
    One {
        /// The links that exist, each a connected stream socket.
        links: &'a [(Direction, i32)],
        /// A socket that listens for a debugger, without which the node does not start.
        debugger: Option<i32>,
    },
    /// A box of nodes, whose links lie in memory.
    Box {
        /// How many.
        nodes: u32,
        /// Where there are other instances: a connected stream socket to the server of their bells, and how many
        /// bells each instance has.
        doorbell: Option<(i32, u32)>,
    },
}

/// What one QEMU process is given, file descriptors by their numbers in that process.
pub struct Wiring<'a> {
    /// Size of the node's RAM in bytes.
    pub memory: u64,
    /// The memory file behind the RAM.
    pub ram: i32,
    /// The image.
    pub image: i32,
    /// The record of the boot parameters.
    pub record: i32,
    /// What it carries.
    pub carries: Carries<'a>,
    /// A connected stream socket for the nodes' bell, which is the UART.
    pub bell: i32,
    /// Whether QEMU locks itself in.
    pub sandbox: bool,
    /// Whether the processor's counter of instructions is exact.
    pub counted: bool,
}

impl Wiring<'_> {
    /// The arguments after the program's name.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        let mut option = |name: &str, value: String| {
            arguments.push(format!("-{name}"));
            arguments.push(value);
        };
        let (machine, nodes) = match self.carries {
            Carries::One { .. } => ("virt", 1),
            // With the software interrupts by which nodes wake each other.
            Carries::Box { nodes, .. } => ("virt,aclint=on", nodes),
        };
        option("machine", format!("{machine},memory-backend=ram"));
        // QEMU before 8.1 leaves memory barriers out of the code for machines that cannot have a second
        // processor. But the devices run beside the processor, and without barriers a frame and a sleeping
        // node miss each other, once in some ten thousand messages back and forth.
        // Instructions are counted by one thread only: the node's time is their number, and a device's turn comes
        // between two of them.
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
        // A notification is to be dealt with before the node goes on. QEMU 10.0, unlike 7.2, otherwise leaves
        // it to its other thread, where two are as one, so that the device waits for `SEND_BY_NS`.
        option("global", "virtio-mmio.ioeventfd=off".into());
        option("chardev", format!("socket,id=bell,fd={}", self.bell));
        option("serial", "chardev:bell".into());
        if self.sandbox {
            option("sandbox", SANDBOX.into());
        }
        self.add_links(&mut option);
        arguments.extend(["-nodefaults", "-no-user-config", "-no-reboot"].map(String::from));
        if let Carries::One {
            debugger: Some(_), ..
        } = self.carries
        {
            arguments.push("-S".into());
        }
        arguments
    }

    /// The devices by which nodes reach those of other instances.
    fn add_links(&self, option: &mut dyn FnMut(&str, String)) {
        let links = match self.carries {
            Carries::One { links, debugger } => {
                if let Some(fd) = debugger {
                    option(
                        "chardev",
                        format!("socket,id=gdb,fd={fd},server=on,wait=off"),
                    );
                    option("gdb", "chardev:gdb".into());
                }
                links
            }
            Carries::Box { doorbell, .. } => {
                if let Some((fd, bells)) = doorbell {
                    option("chardev", format!("socket,id=doorbell,fd={fd}"));
                    option(
                        "device",
                        format!("ivshmem-doorbell,addr=1.0,vectors={bells},chardev=doorbell"),
                    );
                }
                &[]
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
            carries: Carries::One {
                links,
                debugger: None,
            },
            bell: 30,
            sandbox,
            counted: false,
        }
    }

    /// QEMU refuses to count with several threads.
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

    /// The value that follows an option whose value contains `part`.
    fn has(arguments: &[String], option: &str, value: &str) -> bool {
        arguments
            .windows(2)
            .any(|pair| pair[0] == option && pair[1] == value)
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
    }

    #[test]
    fn the_device_acts_on_each_notification_by_itself() {
        assert!(has(
            &wired(&[], false),
            "-global",
            "virtio-mmio.ioeventfd=off"
        ));
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
                carries: Carries::Box { nodes, doorbell },
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
        assert!(
            !alone
                .iter()
                .any(|a| a.contains("ivshmem") || a.contains("net"))
        );
        let arguments = of_a_box(256, Some((40, 256)));
        assert!(has(&arguments, "-smp", "cpus=256,maxcpus=256"));
        assert!(has(
            &arguments,
            "-machine",
            "virt,aclint=on,memory-backend=ram"
        ));
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
