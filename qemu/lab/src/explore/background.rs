//! Exploration of table rows in a background thread.
#![forbid(unsafe_code)]

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, JoinHandle};

use midplane_cluster::panic;
use midplane_engines::EngineChoice;

use super::cases::{CaseRow, UnexpectedResult};
use super::search::{IncompleteReason, SearchExtent};

/// Result of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowResult {
    /// The row's name.
    pub name: String,
    /// The completed exploration, or an unexpected result.
    pub result: Result<SearchExtent, UnexpectedResult>,
}

/// The row in progress at the time of the query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowProgress {
    /// The row's name.
    pub name: String,
    /// Its progress.
    pub explored: SearchExtent,
}

enum BackgroundEvent {
    Finding(RowResult),
    Progress(RowProgress),
}

/// Explorations in progress. They stop when this value is dropped, and when the process ends.
#[derive(Debug)]
pub struct Background {
    events: Receiver<BackgroundEvent>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    progress: Option<RowProgress>,
}

impl Background {
    /// Starts with the first of the rows, using devices with this matching engine. Does not wait.
    ///
    /// # Errors
    /// When the host cannot create a thread.
    pub fn begin(rows: Vec<CaseRow>, matching: EngineChoice) -> io::Result<Background> {
        let (sender, events) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = Builder::new().name("exploration".into()).spawn(move || {
            let rows = { rows.into_iter() }.map(|row| row.with_matching(matching));
            explore_rows(rows, &sender, &stopped);
        })?;
        Ok(Background {
            events,
            stop,
            thread: Some(thread),
            progress: None,
        })
    }

    /// Returns the results since the last call. Does not wait.
    pub fn findings(&mut self) -> Vec<RowResult> {
        let mut findings = Vec::new();
        for event in self.events.try_iter() {
            match event {
                BackgroundEvent::Finding(finding) => {
                    self.progress = None;
                    findings.push(finding);
                }
                BackgroundEvent::Progress(progress) => self.progress = Some(progress),
            }
        }
        findings
    }

    /// Returns the row in progress, as of the last [`Background::findings`].
    pub fn progress(&self) -> Option<&RowProgress> {
        self.progress.as_ref()
    }

    /// Checks whether all explorations are complete.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops, and waits until it has stopped, a fraction of a second. The last results are available after that.
    ///
    /// # Errors
    /// The message of the panic that ended the thread, if any.
    pub fn stop(&mut self) -> Result<(), String> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(payload)) => Err(panic::words(payload.as_ref())),
            _ => Ok(()),
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

fn explore_rows(rows: impl Iterator<Item = CaseRow>, events: &Sender<BackgroundEvent>, stopped: &AtomicBool) {
    for row in rows {
        let name = || row.name.clone();
        let result = row.explore(&mut |&explored| {
            let progress = RowProgress { name: name(), explored };
            // Without a receiver the exploration is pointless.
            match events.send(BackgroundEvent::Progress(progress)) {
                Ok(()) if !stopped.load(Ordering::Relaxed) => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        });
        if let Err(UnexpectedResult::Unfinished(IncompleteReason::Stopped(_))) = result {
            return;
        }
        let finding = RowResult { name: name(), result };
        if events.send(BackgroundEvent::Finding(finding)).is_err() || stopped.load(Ordering::Relaxed) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases;
    use super::*;

    #[test]
    fn rows_are_explored_to_their_end_and_what_is_broken_is_found() {
        let rows = vec![
            cases::one_sender().swap_remove(0),
            cases::without_rule_b().swap_remove(0),
        ];
        let mut background = Background::begin(rows, EngineChoice::Default).expect("a thread");
        let mut findings = Vec::new();
        while !background.is_over() {
            findings.extend(background.findings());
            std::thread::yield_now();
        }
        background.stop().expect("no panic");
        findings.extend(background.findings());
        let results: Vec<_> = findings.iter().map(|finding| &finding.result).collect();
        assert!(
            matches!(
                results[..],
                [Ok(_), Err(UnexpectedResult::Unfinished(IncompleteReason::Broken(_)))]
            ),
            "{findings:?}"
        );
    }

    #[test]
    fn an_exploration_that_would_take_hours_can_be_ended() {
        let rows = cases::three_senders_of_two_messages();
        let mut background = Background::begin(rows, EngineChoice::Default).expect("a thread");
        while background.progress().is_none() {
            assert_eq!(background.findings(), []);
            std::thread::yield_now();
        }
        assert!(!background.is_over());
        assert_eq!(background.stop(), Ok(()));
        assert_eq!(background.findings(), []);
    }
}
