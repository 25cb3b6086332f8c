//! The parts in which the workspace's tests are compiled, as arguments of cargo.
//!
//! The libraries' own tests are compiled without the features that others turn on, and rather fast than to be fast: they
//! are small cases. All other tests run whole machines, for which `Cargo.toml` has the workspace optimised.

/// The libraries, from below. The last is the kernel.
pub const LIBRARIES: [&str; 8] = [
    "net-torus",
    "msg-layer",
    "midplane-device",
    "midplane-objects",
    "midplane-c",
    "midplane-rust",
    "midplane-abi",
    "kernel-rt",
];

/// The libraries below the kernel by themselves. The device's tests are many, and take ten times as long where it is not
/// optimised at all.
pub fn below_kernel() -> Vec<&'static str> {
    by_themselves(OPTIMISED, &LIBRARIES[..6])
}

/// The kernel and what it shares with the tool by themselves, whose tests want little of the device.
pub fn kernel() -> Vec<&'static str> {
    by_themselves(UNOPTIMISED, &LIBRARIES[6..])
}

/// The libraries by themselves, with the device as [`kernel`] has it.
pub fn libraries() -> Vec<&'static str> {
    by_themselves(UNOPTIMISED, &LIBRARIES)
}

/// How the device, and what is above it, is optimised.
type Configured = [&'static str; 4];

const OPTIMISED: Configured = [
    "profile.dev.package.midplane-device.opt-level=1",
    "profile.dev.package.midplane-objects.opt-level=1",
    "profile.dev.package.midplane-c.opt-level=1",
    "profile.dev.package.midplane-rust.opt-level=1",
];
const UNOPTIMISED: Configured = [
    "profile.dev.package.midplane-device.opt-level=0",
    "profile.dev.package.midplane-objects.opt-level=0",
    "profile.dev.package.midplane-c.opt-level=0",
    "profile.dev.package.midplane-rust.opt-level=0",
];

fn by_themselves(configured: Configured, names: &[&'static str]) -> Vec<&'static str> {
    let packages = names.iter().flat_map(|name| ["--package", name]);
    let configs = { configured.into_iter() }.flat_map(|config| ["--config", config]);
    let words = configs.chain(["--no-default-features"]);
    words.chain(packages).collect()
}

/// The workspace without the libraries.
pub fn machines() -> Vec<&'static str> {
    let packages = LIBRARIES.iter().flat_map(|name| ["--exclude", name]);
    ["--workspace"].into_iter().chain(packages).collect()
}
