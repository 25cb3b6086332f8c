//! Compares the table of layers in ARCHITECTURE.md with the crates that cargo reports.

#[derive(Debug)]
pub struct Row {
    name: String,
    dir: String,
    uses: Vec<String>,
}

/// Crate of the workspace.
#[derive(Debug)]
pub struct Package {
    pub name: String,
    /// Directory, relative to the workspace.
    pub dir: String,
    /// Workspace crates that it depends on, including build and development dependencies.
    pub depends: Vec<String>,
}

/// Returns the text parts between backticks.
pub fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Returns the rows of the first table after this heading.
pub fn table<'t>(text: &'t str, heading: &str) -> impl Iterator<Item = Vec<&'t str>> {
    let (_, text) = text.split_once(heading).unwrap_or_else(|| panic!("no {heading}"));
    let rows = text.lines().skip_while(|line| !line.starts_with('|')).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|row| row.trim_matches('|').split(" | ").collect())
}

/// Returns the layers, the lowest first.
pub fn rows(text: &str) -> Vec<Row> {
    let row = |cells: Vec<&str>| Row {
        name: quoted(cells[0]).next().expect("a crate").into(),
        dir: quoted(cells[1]).next().expect("a directory").into(),
        uses: quoted(cells[2]).map(String::from).collect(),
    };
    table(text, "\n## Layers\n").map(row).collect()
}

/// Checks whether the directory contains tests.
fn is_test(dir: &str) -> bool {
    dir == "tests" || dir.starts_with("tests/")
}

/// Returns the differences between the crates and the table.
pub fn faults(rows: &[Row], packages: &[Package]) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let name = &row.name;
        for used in &row.uses {
            if rows[..at].iter().all(|below| below.name != *used) {
                faults.push(format!("the table has {name} use {used}, which is not below it"));
            }
        }
        let Some(package) = packages.iter().find(|package| package.name == *name) else {
            faults.push(format!("there is no crate {name}"));
            continue;
        };
        if package.dir != row.dir {
            faults.push(format!("{name} is in {}, not in {}", package.dir, row.dir));
        }
        for used in &row.uses {
            if !package.depends.contains(used) {
                faults.push(format!("{name} does not use {used}, though it may; shorten the table"));
            }
        }
    }
    for package in packages {
        let name = &package.name;
        let Some(row) = rows.iter().find(|row| row.name == *name) else {
            faults.push(format!("the table lacks {name}"));
            continue;
        };
        for used in &package.depends {
            if !row.uses.contains(used) {
                faults.push(format!("{name} must not use {used}"));
            }
            let of_tests = packages.iter().any(|other| other.name == *used && is_test(&other.dir));
            if of_tests && !is_test(&package.dir) {
                faults.push(format!("{name} is no test, and uses {used}, which is for tests"));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# A\n\n## Layers\n\nText.\n\n| crate | directory | may use |\n|---|---|---|\n\
        | `below` | `a` | |\n| `above` | `b/c` | `below` |\n| `checks` | `tests` | `above`, `below` |\n\nMore.\n";

    fn packages() -> Vec<Package> {
        let package = |name: &str, dir: &str, depends: &[&str]| Package {
            name: name.into(),
            dir: dir.into(),
            depends: depends.iter().map(|name| name.to_string()).collect(),
        };
        vec![
            package("below", "a", &[]),
            package("above", "b/c", &["below"]),
            package("checks", "tests", &["above", "below"]),
        ]
    }

    #[test]
    fn crates_that_are_as_the_table_has_them_pass() {
        assert_eq!(faults(&rows(TABLE), &packages()), [""; 0]);
    }

    #[test]
    fn each_fault_is_found() {
        let with = |change: fn(&mut Vec<Package>)| {
            let mut packages = packages();
            change(&mut packages);
            faults(&rows(TABLE), &packages)
        };
        let upward = with(|packages| packages[0].depends.push("above".into()));
        assert_eq!(upward, ["below must not use above"]);
        let tests = with(|packages| packages[1].depends.push("checks".into()));
        let expected = [
            "above must not use checks",
            "above is no test, and uses checks, which is for tests",
        ];
        assert_eq!(tests, expected);
        let unused = with(|packages| packages[1].depends.clear());
        assert!(unused.concat().contains("above does not use below"));
        let moved = with(|packages| packages[1].dir = "d".into());
        assert_eq!(moved, ["above is in d, not in b/c"]);
        let lost = with(|packages| drop(packages.remove(1)));
        assert_eq!(lost, ["there is no crate above"]);
        let more = with(|packages| packages[0].name = "new".into());
        assert_eq!(more, ["there is no crate below", "the table lacks new"]);
    }

    #[test]
    fn a_table_that_leads_upward_is_refused_whatever_it_allows() {
        let table = TABLE.replace("| `a` | |", "| `a` | `above` |");
        let mut packages = packages();
        packages[0].depends.push("above".into());
        let faults = faults(&rows(&table), &packages);
        assert_eq!(faults, ["the table has below use above, which is not below it"]);
        let table = TABLE.replace("| `b/c` | `below` |", "| `b/c` | `below`, `checks` |");
        packages[0].depends.clear();
        packages[1].depends.push("checks".into());
        let faults = super::faults(&rows(&table), &packages).concat();
        assert!(faults.contains("which is not below it"), "{faults}");
        assert!(faults.contains("above is no test"), "{faults}");
    }
}
