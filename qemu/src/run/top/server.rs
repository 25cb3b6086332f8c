//! Server of a job's state. A thread accepts the connections; the event loop provides the state on request.

use super::directory::{private_directory, socket_path};
use super::snapshot::JobSnapshot;
use std::fs;
use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Maximum wait for the event loop, which polls a large simulated machine every two seconds.
const STATE_WITHIN: Duration = Duration::from_secs(5);
/// Maximum wait for a reader.
const WRITE_WITHIN: Duration = Duration::from_secs(1);

/// Server of a job's state. Its socket exists until it is dropped.
pub struct StatusServer {
    shared: Arc<SharedState>,
    path: PathBuf,
}

/// State shared with the thread.
#[derive(Default)]
struct SharedState {
    /// A connection waits for a new state.
    is_wanted: AtomicBool,
    /// The job has ended.
    is_over: AtomicBool,
    latest: Mutex<LatestState>,
    changed: Condvar,
}

#[derive(Default)]
struct LatestState {
    /// Number of provided states.
    number: u64,
    text: Arc<str>,
}

impl StatusServer {
    /// Starts the server of this process. `None` if the user has no private directory: the job runs without it.
    pub fn start() -> Option<Self> {
        Self::start_in(&private_directory()?, std::process::id())
    }

    fn start_in(directory: &Path, pid: u32) -> Option<Self> {
        let path = socket_path(directory, pid);
        // A former process with this ID may have been killed.
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path).ok()?;
        let shared = Arc::<SharedState>::default();
        let server = Self {
            shared: Arc::clone(&shared),
            path,
        };
        let thread = std::thread::Builder::new().name("status".into());
        thread.spawn(move || serve(&listener, &shared)).ok()?;
        Some(server)
    }

    /// Checks whether a connection waits for a new state.
    pub fn is_wanted(&self) -> bool {
        self.shared.is_wanted.load(Ordering::Acquire)
    }

    /// Provides a new state.
    pub fn publish(&self, state: &JobSnapshot) {
        let text = serde_json::to_string(state).unwrap_or_default() + "\n";
        let mut latest = self.shared.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.number += 1;
        latest.text = text.into();
        self.shared.is_wanted.store(false, Ordering::Release);
        self.shared.changed.notify_all();
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        // Wakes the thread.
        let _ = UnixStream::connect(&self.path);
        let _ = fs::remove_file(&self.path);
        self.shared.changed.notify_all();
    }
}

fn serve(listener: &UnixListener, shared: &SharedState) {
    while let Ok((stream, _)) = listener.accept() {
        if shared.is_over.load(Ordering::Acquire) {
            return;
        }
        if let Some(text) = next_state(shared) {
            // A reader may be gone.
            let _ = send(stream, &text);
        }
    }
}

fn next_state(shared: &SharedState) -> Option<Arc<str>> {
    let latest = shared.latest.lock().unwrap_or_else(PoisonError::into_inner);
    let number = latest.number;
    shared.is_wanted.store(true, Ordering::Release);
    let is_old = |latest: &mut LatestState| latest.number == number && !shared.is_over.load(Ordering::Acquire);
    let waited = shared.changed.wait_timeout_while(latest, STATE_WITHIN, is_old);
    let (latest, _) = waited.unwrap_or_else(PoisonError::into_inner);
    (latest.number != number).then(|| Arc::clone(&latest.text))
}

fn send(mut stream: UnixStream, text: &str) -> std::io::Result<()> {
    stream.set_write_timeout(Some(WRITE_WITHIN))?;
    stream.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::directory::request_state;
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_connection_receives_a_new_state() {
        let directory = std::env::temp_dir().join(format!("midplane-test-status-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let server = StatusServer::start_in(&directory, 1).unwrap();
        assert!(!server.is_wanted());
        let state = JobSnapshot {
            pid: 1,
            ..JobSnapshot::default()
        };
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| request_state(&directory, 1));
            let until = Instant::now() + Duration::from_secs(10);
            while !server.is_wanted() && Instant::now() < until {
                std::thread::yield_now();
            }
            server.publish(&state);
            let text = reader.join().unwrap().unwrap();
            assert_eq!(serde_json::from_str::<JobSnapshot>(&text).unwrap(), state);
        });
        drop(server);
        assert!(request_state(&directory, 1).is_err());
        fs::remove_dir_all(&directory).unwrap();
    }
}
