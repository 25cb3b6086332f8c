//! Classes of MPI functions, which have a colour each.

use crate::operations::is_collective;

/// Class of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallClass {
    /// Sends, receives and probes.
    PointToPoint,
    /// Collective operations on communicators.
    Collective,
    /// Operations and synchronization of windows.
    OneSided,
    /// Completion of requests.
    Completion,
    /// All others.
    Other,
}

impl CallClass {
    /// All classes.
    pub const ALL: [Self; Self::COUNT] = [
        Self::PointToPoint,
        Self::Collective,
        Self::OneSided,
        Self::Completion,
        Self::Other,
    ];
    /// Number of classes.
    pub const COUNT: usize = 5;

    /// Returns the class of a function.
    #[must_use]
    pub fn from_function(name: &str) -> Self {
        let name = name.trim_start_matches("MPIX_").trim_start_matches("MPI_");
        let begins = |begins: &[&str]| begins.iter().any(|begin| name.starts_with(begin));
        if begins(&["Wait", "Test", "Request_get_status"]) && name != "Test_cancelled" {
            Self::Completion
        } else if is_collective(&format!("MPI_{name}")) {
            Self::Collective
        } else if begins(&["Win_"]) || is_window_access(name) {
            Self::OneSided
        } else if begins(&["Start"]) || is_point_to_point(name) {
            Self::PointToPoint
        } else {
            Self::Other
        }
    }

    /// Returns the name in the style sheet.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::PointToPoint => "point",
            Self::Collective => "collective",
            Self::OneSided => "onesided",
            Self::Completion => "completion",
            Self::Other => "other",
        }
    }

    /// Returns the name for readers.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::PointToPoint => "point-to-point",
            Self::Collective => "collective",
            Self::OneSided => "one-sided",
            Self::Completion => "completion",
            Self::Other => "other",
        }
    }
}

/// Checks for an operation on the memory of a window.
fn is_window_access(name: &str) -> bool {
    let name = name.to_lowercase();
    let name = name.strip_prefix('r').unwrap_or(&name);
    matches!(
        name,
        "put" | "get" | "accumulate" | "get_accumulate" | "fetch_and_op" | "compare_and_swap"
    )
}

fn is_point_to_point(name: &str) -> bool {
    let name = name.to_lowercase();
    let name = name.strip_suffix("_init").unwrap_or(&name);
    ["send", "recv", "probe"].iter().any(|end| name.ends_with(end)) || name == "sendrecv_replace"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_classes() {
        let cases = [
            (
                CallClass::PointToPoint,
                "MPI_Send MPI_Issend MPI_Recv_init MPI_Sendrecv_replace",
            ),
            (CallClass::PointToPoint, "MPI_Improbe MPI_Mrecv MPI_Startall"),
            (
                CallClass::Collective,
                "MPI_Barrier MPI_Iallreduce MPI_Comm_split MPI_Comm_idup",
            ),
            (
                CallClass::OneSided,
                "MPI_Put MPI_Rget_accumulate MPI_Win_fence MPI_Win_wait MPIX_Win_ipost",
            ),
            (CallClass::Completion, "MPI_Wait MPI_Testsome MPI_Request_get_status"),
            (
                CallClass::Other,
                "MPI_Init MPI_Test_cancelled MPI_Type_commit MPI_Request_free",
            ),
        ];
        for (class, names) in cases {
            for name in names.split(' ') {
                assert_eq!(CallClass::from_function(name), class, "{name}");
            }
        }
    }
}
