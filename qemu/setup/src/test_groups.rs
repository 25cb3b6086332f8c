//! Cargo arguments that compile the workspace's tests in separate groups.
//!
//! The libraries' own tests are small. They are compiled without optional features and with little optimization, since
//! compile time dominates. All other tests simulate complete nodes and use the optimization level in `Cargo.toml`.

/// The libraries, bottom layer first. The last is the kernel.
pub const LIBRARIES: [&str; 9] = [
    "net-torus",
    "msg-layer",
    "midplane-device",
    "midplane-engines",
    "midplane-objects",
    "midplane-c",
    "midplane-rust",
    "midplane-abi",
    "kernel-rt",
];

/// Returns the libraries below the kernel. Their many device tests run ten times slower without optimization.
pub fn below_kernel() -> Vec<&'static str> {
    by_themselves(OPTIMISED, &LIBRARIES[..7])
}

/// Returns the kernel and the code that it shares with the tool. Their tests use little of the device.
pub fn kernel() -> Vec<&'static str> {
    by_themselves(UNOPTIMISED, &LIBRARIES[7..])
}

/// Returns all libraries; the device is configured as in [`kernel`].
pub fn libraries() -> Vec<&'static str> {
    by_themselves(UNOPTIMISED, &LIBRARIES)
}

/// Optimization of the device and the layers above it.
type CargoSettings = [&'static str; 5];

const OPTIMISED: CargoSettings = [
    "profile.dev.package.midplane-device.opt-level=1",
    "profile.dev.package.midplane-engines.opt-level=1",
    "profile.dev.package.midplane-objects.opt-level=1",
    "profile.dev.package.midplane-c.opt-level=1",
    "profile.dev.package.midplane-rust.opt-level=1",
];
const UNOPTIMISED: CargoSettings = [
    "profile.dev.package.midplane-device.opt-level=0",
    "profile.dev.package.midplane-engines.opt-level=0",
    "profile.dev.package.midplane-objects.opt-level=0",
    "profile.dev.package.midplane-c.opt-level=0",
    "profile.dev.package.midplane-rust.opt-level=0",
];

fn by_themselves(configured: CargoSettings, names: &[&'static str]) -> Vec<&'static str> {
    let packages = names.iter().flat_map(|name| ["--package", name]);
    let configs = { configured.into_iter() }.flat_map(|config| ["--config", config]);
    let words = configs.chain(["--no-default-features"]);
    words.chain(packages).collect()
}

/// Returns the workspace without the libraries.
pub fn machines() -> Vec<&'static str> {
    let packages = LIBRARIES.iter().flat_map(|name| ["--exclude", name]);
    ["--workspace"].into_iter().chain(packages).collect()
}
