//! The two parts in which the workspace's tests are compiled, as arguments of cargo.
//!
//! The libraries' own tests are compiled without the features that others turn on, and rather fast than to be fast: they
//! are small cases. All other tests run whole machines, for which `Cargo.toml` has the workspace optimised.

/// The libraries.
pub const LIBRARIES: [&str; 4] = ["net-torus", "msg-layer", "mpi-adi", "kernel-rt"];

/// The libraries by themselves.
pub fn libraries() -> Vec<&'static str> {
    let packages = LIBRARIES.iter().flat_map(|name| ["--package", name]);
    let config = [
        "--config",
        "profile.dev.package.mpi-adi.opt-level=1",
        "--no-default-features",
    ];
    config.into_iter().chain(packages).collect()
}

/// The workspace without the libraries.
pub fn machines() -> Vec<&'static str> {
    let packages = LIBRARIES.iter().flat_map(|name| ["--exclude", name]);
    ["--workspace"].into_iter().chain(packages).collect()
}
