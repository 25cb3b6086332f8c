//! Sizes in bytes with a unit, as the tool's options and the environment contain them: `4096`, `4K`, `64K`, `16M`, `1G`
//! (powers of 1024).

/// Parses a size. `KiB` and `k` are equivalent to `K`, likewise for `M` and `G`. `None` for any other text and for sizes
/// beyond 64 bits.
pub fn parse(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let factor = match unit.strip_suffix("iB").unwrap_or(unit) {
        "" if unit.is_empty() => 1,
        "K" | "k" => 1 << 10,
        "M" | "m" => 1 << 20,
        "G" | "g" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}
