//! Text for HTML: escaped strings, embedded JSON, numbers.

use serde::Serialize;
use std::fmt::{Display, Formatter, Result, Write};

/// Text with the characters of HTML's syntax escaped, for contents and for quoted attributes.
pub struct Escaped<'t>(pub &'t str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // HTML permits no other control characters.
                '\n' | '\t' | ' ' => f.write_char(character)?,
                character if character.is_control() => f.write_char(char::REPLACEMENT_CHARACTER)?,
                character => f.write_char(character)?,
            }
        }
        Ok(())
    }
}

/// JSON in a script element. A `<` in a string could end the element, and is escaped.
pub struct ScriptData<'d, T>(pub &'d T);

impl<T: Serialize> Display for ScriptData<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let json = serde_json::to_string(self.0).map_err(|_| std::fmt::Error)?;
        let mut rest = &*json;
        while let Some((before, after)) = rest.split_once('<') {
            write!(f, "{before}\\u003c")?;
            rest = after;
        }
        f.write_str(rest)
    }
}

/// Number with separated thousands.
pub struct Grouped(pub u64);

impl Display for Grouped {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let digits = self.0.to_string();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                f.write_char(',')?;
            }
            f.write_char(digit)?;
        }
        Ok(())
    }
}

/// Number of bytes with a binary unit.
pub struct ByteCount(pub u64);

impl Display for ByteCount {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
        if self.0 < 1024 {
            return write!(f, "{} bytes", self.0);
        }
        let mut value = self.0 as f64 / 1024.0;
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            (value, unit) = (value / 1024.0, unit + 1);
        }
        let decimals = usize::from(value.fract() != 0.0 && value < 100.0);
        write!(f, "{value:.decimals$} {}", UNITS[unit])
    }
}

/// Duration in nanoseconds with a unit and three significant digits.
pub struct TimeSpan(pub u64);

impl Display for TimeSpan {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (scale, unit) = match self.0 {
            0..1_000 => return write!(f, "{} ns", self.0),
            1_000..1_000_000 => (1e3, "\u{b5}s"),
            1_000_000..1_000_000_000 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        let value = self.0 as f64 / scale;
        let decimals = match value {
            value if value < 10.0 => 2,
            value if value < 100.0 => 1,
            _ => 0,
        };
        write!(f, "{value:.decimals$} {unit}")
    }
}

/// Share of 1 in percent.
pub struct Percent(pub f64);

impl Display for Percent {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{:.1} %", 100.0 * self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let text = Escaped("<b a='1' c=\"2\">&\u{1b}").to_string();
        assert_eq!(text, "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;\u{fffd}");
        let json = ScriptData(&["</script><!--"]).to_string();
        assert_eq!(json, "[\"\\u003c/script>\\u003c!--\"]");
    }

    #[test]
    fn numbers_have_units() {
        let text = |value| Grouped(value).to_string();
        assert_eq!(
            [text(0), text(999), text(1000), text(1_234_567)],
            ["0", "999", "1,000", "1,234,567"]
        );
        let text = |value| ByteCount(value).to_string();
        assert_eq!(
            [text(1023), text(65536), text(1536), text(5 << 20)],
            ["1023 bytes", "64 KiB", "1.5 KiB", "5 MiB"]
        );
        let text = |value| TimeSpan(value).to_string();
        assert_eq!(
            [text(999), text(1500), text(12_345_678), text(2_000_000_000)],
            ["999 ns", "1.50 \u{b5}s", "12.3 ms", "2.00 s"]
        );
    }
}
