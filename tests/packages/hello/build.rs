//! Makes a word for the program.

fn main() {
    println!("cargo::rustc-env=GREETING=hello");
}
