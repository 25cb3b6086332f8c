//! Provides a string for the program.

fn main() {
    println!("cargo::rustc-env=GREETING=hello");
}
