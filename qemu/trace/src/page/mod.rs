//! Report of a job as one HTML page without external resources: the torus, the communication matrix, a time line of the
//! calls, the memory over time, and tables of the ranks and functions.
//!
//! Rust writes the tables, and the data of the diagrams as JSON. The script of the page draws the diagrams, so that it
//! follows the colour scheme of the browser. Each diagram has a limit, beyond which it shows aggregated values:
//!
//! | diagram | limit |
//! |---|---|
//! | torus | [`MAX_MAP_NODES`](torus::MAX_MAP_NODES) nodes |
//! | communication matrix | [`MAX_MATRIX_BINS`](matrix::MAX_MATRIX_BINS) rows |
//! | time line | [`MAX_DRAWN_CALLS`](timeline::MAX_DRAWN_CALLS) calls, [`MAX_DRAWN_ROWS`](timeline::MAX_DRAWN_ROWS) rows |
//! | memory over time | [`SAMPLES`](memory::SAMPLES) times, [`MAX_LINES`](memory::MAX_LINES) ranks |
//! | tables | [`MAX_TABLE_RANKS`](tables::MAX_TABLE_RANKS) ranks, [`MAX_CALL_SITES`](tables::MAX_CALL_SITES) call sites |

pub mod class;
mod facts;
mod header;
mod input;
mod markup;
pub mod matrix;
pub mod memory;
pub mod summary;
pub mod tables;
#[cfg(test)]
mod tests;
pub mod timeline;
pub mod torus;

pub use facts::{JobFacts, NodeFacts};
pub use input::PageInput;

use class::CallClass;
use markup::{Escaped, ScriptData};
use matrix::CommunicationMatrix;
use memory::MemoryCharts;
use serde::Serialize;
use std::io::{Result, Write};
use summary::JobSummary;
use timeline::TimeLine;
use torus::TorusMap;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Name and label of a class for the script.
#[derive(Serialize)]
struct ClassLegend {
    key: &'static str,
    label: &'static str,
}

/// Data of the diagrams.
#[derive(Serialize)]
struct PageData<'d> {
    classes: [ClassLegend; CallClass::COUNT],
    torus: Option<TorusMap>,
    matrix: &'d CommunicationMatrix,
    timeline: &'d TimeLine,
    memory: MemoryCharts,
}

/// Writes the page.
///
/// # Errors
/// Returns the errors of the writer.
pub fn write(to: &mut dyn Write, input: &PageInput<'_>) -> Result<()> {
    let summary = JobSummary::new(input);
    let matrix = CommunicationMatrix::new(input);
    let timeline = TimeLine::new(input, &summary);
    let data = PageData {
        classes: CallClass::ALL.map(|class| ClassLegend {
            key: class.key(),
            label: class.label(),
        }),
        torus: TorusMap::new(input.facts),
        matrix: &matrix,
        timeline: &timeline,
        memory: MemoryCharts::new(input.job),
    };
    write_head(to, &input.facts.program)?;
    header::write(to, input, &summary)?;
    torus::write_section(to, data.torus.as_ref(), input.facts)?;
    matrix::write_section(to, &matrix)?;
    timeline::write_section(to, &timeline)?;
    memory::write_section(to, &data.memory)?;
    tables::write_ranks(to, input.facts, &summary)?;
    tables::write_functions(to, &summary)?;
    tables::write_call_sites(to, &summary)?;
    writeln!(to, "</main>\n<div id=\"tip\" role=\"status\" hidden></div>")?;
    writeln!(
        to,
        "<script type=\"application/json\" id=\"data\">{}</script>",
        ScriptData(&data)
    )?;
    writeln!(to, "<script>\n{SCRIPT}</script>\n</body>\n</html>")
}

fn write_head(to: &mut dyn Write, program: &str) -> Result<()> {
    let name = program.rsplit('/').next().unwrap_or_default();
    writeln!(
        to,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{} - midplane</title>\n<style>\n{STYLE}</style>\n</head>\n<body>",
        Escaped(name)
    )
}
