//! Tables: rows of one type under headings, limited to [`WIDTH`] columns of a terminal; and the same rows as CSV.

use crate::host::error::{CliError, ErrorContext};
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Row, Table as Grid, Width};
use serde::{Serialize, Serializer};

/// Minimum width of a terminal in columns.
pub const WIDTH: u16 = 80;

/// Alignment of a column's cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnAlignment {
    /// Right-aligned, with a minimum width in characters.
    Right(u16),
    /// Left-aligned, with a minimum width in characters.
    Left(u16),
    /// Left-aligned and wrapped to the remaining width. Only for the last column.
    Prose,
}

/// A column of a table with rows of type `R`.
pub struct Column<R: ?Sized> {
    /// Heading; line feeds separate its lines.
    pub heading: &'static str,
    /// Alignment of its cells.
    pub cells: ColumnAlignment,
    /// Formats a row's cell.
    pub text: CellText<R>,
}

/// Function that formats a cell.
pub enum CellText<R: ?Sized> {
    /// A function of the row.
    Of(fn(&R) -> String),
    /// A function of the row and of an index.
    At(fn(&R, usize) -> String, usize),
}

impl<R: ?Sized> CellText<R> {
    fn format(&self, row: &R) -> String {
        match self {
            Self::Of(text) => text(row),
            Self::At(text, index) => text(row, *index),
        }
    }
}

impl<R: ?Sized> Column<R> {
    /// Creates a right-aligned column of a minimum width.
    pub const fn right(heading: &'static str, least: u16, text: fn(&R) -> String) -> Self {
        Column {
            heading,
            cells: ColumnAlignment::Right(least),
            text: CellText::Of(text),
        }
    }

    /// Creates a left-aligned column of a minimum width.
    pub const fn left(heading: &'static str, least: u16, text: fn(&R) -> String) -> Self {
        Column {
            heading,
            cells: ColumnAlignment::Left(least),
            text: CellText::Of(text),
        }
    }
}

pub struct Table<R: ?Sized + 'static> {
    pub columns: &'static [Column<R>],
    /// Number of leading columns that identify the row. A table that is too wide is folded: the remaining columns
    /// follow below, after the same leading columns.
    pub keys: usize,
    /// Spaces between two columns.
    pub gap: u16,
}

impl<R> Table<R> {
    /// Returns the headings alone, for rows that are shown one by one.
    pub fn heading(&self) -> Vec<String> {
        self.grid(&self.all(), self.headings())
    }

    /// Returns one row under [`Table::heading`].
    pub fn row(&self, row: &R) -> String {
        self.grid(&self.all(), vec![self.cells_of(row)]).join("\n")
    }

    /// Returns headings and rows, folded where they exceed [`WIDTH`].
    pub fn lines(&self, rows: &[R]) -> Vec<String> {
        let mut cells = self.headings();
        cells.extend(rows.iter().map(|row| self.cells_of(row)));
        let mut lines = Vec::new();
        for columns in self.folds(&cells) {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            // Removes heading lines that only another part of the table uses.
            let part = self.grid(&columns, cells.clone());
            lines.extend(part.into_iter().skip_while(String::is_empty));
        }
        lines
    }

    fn all(&self) -> Vec<usize> {
        (0..self.columns.len()).collect()
    }

    fn cells_of(&self, row: &R) -> Vec<String> {
        self.columns.iter().map(|column| column.text.format(row)).collect()
    }

    /// Returns a row of cells for each heading line; the last lines are next to the rows.
    fn headings(&self) -> Vec<Vec<String>> {
        let lines = |column: &Column<R>| column.heading.split('\n').count();
        let height = self.columns.iter().map(lines).max().unwrap_or(0);
        let line = |at: usize| {
            let cell = |column: &Column<R>| {
                let above = height - lines(column);
                let line = at.checked_sub(above);
                line.and_then(|line| column.heading.split('\n').nth(line))
                    .unwrap_or_default()
                    .to_string()
            };
            self.columns.iter().map(cell).collect()
        };
        (0..height)
            .map(line)
            .filter(|cells: &Vec<String>| cells.iter().any(|cell| !cell.is_empty()))
            .collect()
    }

    /// Returns the columns of each fold, from top to bottom.
    fn folds(&self, cells: &[Vec<String>]) -> Vec<Vec<usize>> {
        let width = |at: usize| {
            let widths = cells.iter().map(|row| row[at].chars().count() as u16);
            let widest = widths.max().unwrap_or(0);
            match self.columns[at].cells {
                ColumnAlignment::Right(least) | ColumnAlignment::Left(least) => widest.max(least) + self.gap,
                ColumnAlignment::Prose => 0,
            }
        };
        let keys: u16 = (0..self.keys).map(width).sum();
        let mut folds = Vec::new();
        let mut fold: Vec<usize> = (0..self.keys).collect();
        let mut taken = keys;
        for at in self.keys..self.columns.len() {
            let more = width(at);
            if taken + more > WIDTH + self.gap && fold.len() > self.keys {
                let next = (0..self.keys).collect();
                folds.push(std::mem::replace(&mut fold, next));
                taken = keys;
            }
            fold.push(at);
            taken += more;
        }
        folds.push(fold);
        folds
    }

    fn grid(&self, columns: &[usize], rows: Vec<Vec<String>>) -> Vec<String> {
        let mut grid = Grid::new();
        grid.load_style(comfy_table::presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(WIDTH);
        grid.add_rows(rows.iter().map(|row| {
            let cells = columns.iter().map(|&at| row[at].as_str());
            Row::from(cells.collect::<Vec<_>>())
        }));
        for (place, &at) in columns.iter().enumerate() {
            let Some(column) = grid.column_mut(place) else {
                continue;
            };
            let gap = if place == 0 { 0 } else { self.gap };
            column.set_padding((gap, 0));
            // At least as wide as its content: a number must not be split over two lines.
            let widest = rows.iter().map(|row| row[at].chars().count() as u16).max();
            let widest = widest.unwrap_or(0);
            let headings = self.columns[at].heading.split('\n');
            let heading = headings.map(|line| line.chars().count() as u16).max();
            let least = match self.columns[at].cells {
                ColumnAlignment::Right(least) | ColumnAlignment::Left(least) => least.max(heading.unwrap_or(0)),
                ColumnAlignment::Prose => continue,
            };
            if let ColumnAlignment::Right(_) = self.columns[at].cells {
                column.set_cell_alignment(CellAlignment::Right);
            }
            let width = Width::Fixed(gap + widest.max(least));
            column.set_constraint(ColumnConstraint::Absolute(width));
        }
        grid.lines().map(|line| line.trim_end().to_string()).collect()
    }
}

/// Formats the rows as CSV, with the field names as header.
///
/// # Errors
/// Returns a failure if a row cannot be written as CSV, for example because it contains a list.
pub fn csv<R: Serialize>(rows: &[R]) -> Result<String, CliError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).context("write a line of CSV")?;
    }
    let bytes = writer.into_inner().context("write CSV")?;
    String::from_utf8(bytes).context("write CSV")
}

/// Serializes a number for CSV with six decimals, sufficient for all measurements.
///
/// # Errors
/// Returns the serializer's errors.
pub fn six_places<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((value * 1e6).round() / 1e6)
}

/// Serializes an optional number for CSV with six decimals.
///
/// # Errors
/// Returns the serializer's errors.
pub fn six_places_if_any<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => six_places(value, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Table<(u32, u64)> = Table {
        columns: &[
            Column {
                heading: "rank",
                cells: ColumnAlignment::Right(0),
                text: CellText::Of(|row| row.0.to_string()),
            },
            Column {
                heading: "messages\nsent",
                cells: ColumnAlignment::Right(0),
                text: CellText::Of(|row| row.1.to_string()),
            },
            Column {
                heading: "half",
                cells: ColumnAlignment::Right(6),
                text: CellText::Of(|row| (row.1 / 2).to_string()),
            },
        ],
        keys: 1,
        gap: 2,
    };

    #[test]
    fn numbers_stand_under_their_headings() {
        assert_eq!(
            TABLE.lines(&[(0, 7), (10, 123_456_789)]),
            [
                "       messages",
                "rank       sent      half",
                "   0          7         3",
                "  10  123456789  61728394",
            ]
        );
    }

    #[test]
    fn rows_that_come_one_by_one_stand_under_the_headings() {
        assert_eq!(TABLE.heading(), ["      messages", "rank      sent    half"]);
        assert_eq!(TABLE.row(&(3, 8)), "   3         8       4");
    }

    #[test]
    fn what_is_too_wide_is_folded_and_none_is_lost() {
        const COLUMN: Column<u64> = Column {
            heading: "a heading of some length",
            cells: ColumnAlignment::Right(0),
            text: CellText::Of(u64::to_string),
        };
        const KEY: Column<u64> = Column {
            heading: "key",
            ..COLUMN
        };
        let table = Table {
            columns: &[KEY, COLUMN, COLUMN, COLUMN, COLUMN],
            keys: 1,
            gap: 2,
        };
        let lines = table.lines(&[1, 22]);
        assert_eq!(lines.len(), 2 * 3 + 1);
        assert!(lines.iter().all(|line| line.len() <= usize::from(WIDTH)));
        let cells = |line: &str| line.split_whitespace().count();
        assert_eq!((cells(&lines[1]), cells(&lines[5])), (1 + 2, 1 + 2));
        // Wider than a terminal by itself, but shown completely.
        let wide = "9".repeat(100);
        let table = Table {
            columns: &[Column {
                heading: "wide",
                cells: ColumnAlignment::Right(0),
                text: CellText::Of(String::clone),
            }],
            keys: 0,
            gap: 2,
        };
        assert_eq!(table.lines(std::slice::from_ref(&wide))[1], wide);
    }

    #[test]
    fn prose_takes_the_lines_that_it_needs() {
        let table: Table<(u64, String)> = Table {
            columns: &[
                Column {
                    heading: "",
                    cells: ColumnAlignment::Right(12),
                    text: CellText::Of(|row| row.0.to_string()),
                },
                Column {
                    heading: "",
                    cells: ColumnAlignment::Prose,
                    text: CellText::Of(|row| row.1.to_string()),
                },
            ],
            keys: 0,
            gap: 2,
        };
        let words = ["word"; 30].join(" ");
        let lines = table.lines(&[(5, words)]);
        assert!(lines.len() > 2 && lines.iter().all(|line| line.len() <= usize::from(WIDTH)));
        assert!(lines[0].starts_with("           5  word word"), "{lines:?}");
        assert!(lines[1].starts_with("              word"), "{lines:?}");
        assert_eq!(lines.join(" ").split_whitespace().count(), 31);
    }

    #[test]
    fn csv_has_the_names_of_the_fields() {
        #[derive(Serialize)]
        struct Line {
            #[serde(serialize_with = "six_places")]
            load: f64,
            place: &'static str,
        }
        let lines = [Line {
            load: 0.1 + 0.2,
            place: "a, b",
        }];
        assert_eq!(csv(&lines), Ok("load,place\n0.3,\"a, b\"\n".into()));
    }
}
