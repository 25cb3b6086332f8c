//! Start of the processes that a process requests (MPI_Comm_spawn, MPI-3.1 section 10.3).

use crate::host::error::CliError;
use crate::run::instance::{Instance, InstancePool};
use crate::run::linux::universe_state::{PendingStart, Universe};
use crate::run::linux::{ProcessProgram, soft, start};
use crate::run::node::Node;
use crate::run::plan::{JobPlan, coord};
use kernel_rt::board::linux::share::{AT_HANDS_OVER, AT_RESTS};
use kernel_rt::board::linux::world::WorldView;
use midplane_abi::blackboard::NodeState;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Started processes.
pub struct StartedProcesses {
    /// Rank of the first one on the torus.
    pub first: u32,
    /// Number of processes of each command.
    pub numbers: Vec<u32>,
}

/// A command of a request.
struct SpawnCommand {
    command: PathBuf,
    most: u32,
    soft: String,
    directory: PathBuf,
    /// Additional directories in which the command is searched.
    path: String,
    argv: Vec<Vec<u8>>,
}

/// Directories of the process that requests.
struct Requester {
    directory: PathBuf,
    executable: Option<PathBuf>,
}

impl Requester {
    fn of(instance: &Instance) -> Self {
        let link = |name: &str| fs::read_link(format!("/proc/{}/{name}", instance.id()?)).ok();
        Self {
            directory: link("cwd").unwrap_or_else(|| ".".into()),
            executable: link("exe"),
        }
    }
}

/// Fields of a request.
struct FieldReader<'a>(std::slice::Iter<'a, Vec<u8>>);

impl FieldReader<'_> {
    fn bytes(&mut self) -> Result<Vec<u8>, String> {
        self.0.next().cloned().ok_or_else(|| INVALID.to_string())
    }

    fn text(&mut self) -> Result<String, String> {
        Ok(String::from_utf8_lossy(&self.bytes()?).into_owned())
    }

    fn number(&mut self) -> Result<u32, String> {
        self.text()?.parse().map_err(|_| INVALID.to_string())
    }

    fn path(&mut self) -> Result<PathBuf, String> {
        Ok(OsStr::from_bytes(&self.bytes()?).into())
    }

    fn command(&mut self, requester: &Requester) -> Result<SpawnCommand, String> {
        let command = self.path()?;
        let (most, soft) = (self.number()?, self.text()?);
        let (directory, path) = (requester.directory.join(self.path()?), self.text()?);
        let arguments = self.number()?;
        let mut argv = vec![command.as_os_str().as_bytes().to_vec()];
        for _ in 0..arguments {
            argv.push(self.bytes()?);
        }
        Ok(SpawnCommand {
            command,
            most,
            soft,
            directory,
            path,
            argv,
        })
    }
}

const INVALID: &str = "the request is invalid: the process was linked with another version";

/// Parses a request.
fn commands(request: &[Vec<u8>], requester: &Requester) -> Result<Vec<SpawnCommand>, String> {
    let mut fields = FieldReader(request.iter());
    if fields.bytes()? != b"start" {
        return Err(INVALID.into());
    }
    let count = fields.number()?;
    (0..count).map(|_| fields.command(requester)).collect()
}

/// Returns the executable of a command: of its path, or found in the directories of the info key, in its working directory,
/// beside the executable of the process that requests, and in PATH.
fn find_executable(command: &SpawnCommand, requester: &Requester) -> Result<PathBuf, String> {
    let name = &command.command;
    if name.as_os_str().as_bytes().contains(&b'/') {
        let path = [&command.directory, &requester.directory].map(|directory| directory.join(name));
        let found = path.iter().find(|path| path.exists()).unwrap_or(&path[0]);
        return check_executable(found).map(|()| found.clone());
    }
    let listed = command
        .path
        .split([':', ' ', ','])
        .filter(|directory| !directory.is_empty());
    let beside = requester.executable.as_deref().and_then(Path::parent);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = listed
        .map(|directory| requester.directory.join(directory))
        .chain([command.directory.clone()])
        .chain(beside.map(Path::to_path_buf))
        .chain(std::env::split_paths(&path));
    for directory in directories {
        let file = directory.join(name);
        if file.is_file() && check_executable(&file).is_ok() {
            return Ok(file);
        }
    }
    Err(format!("there is no executable {}", name.display()))
}

/// Checks that the system can execute a file, before any process of the request is started.
fn check_executable(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let facts = fs::metadata(path).map_err(|why| format!("{shown}: {why}"))?;
    if !facts.is_file() || facts.permissions().mode() & 0o111 == 0 {
        return Err(format!("{shown} is not executable"));
    }
    let mut begin = [0; 4];
    let read = fs::File::open(path).and_then(|mut file| file.read(&mut begin));
    match read {
        Ok(4) if begin == *b"\x7fELF" || begin.starts_with(b"#!") => Ok(()),
        // Executable, and not readable.
        Err(_) => Ok(()),
        Ok(_) => Err(format!("{shown} is neither an executable nor a script")),
    }
}

/// Returns the number of processes of each command: those that it requests, or fewer if its `soft` permits that.
fn numbers(commands: &[SpawnCommand], spare: u32) -> Result<Vec<u32>, String> {
    let hard = |command: &&SpawnCommand| command.soft.is_empty();
    let mut left = i64::from(spare)
        - commands
            .iter()
            .filter(hard)
            .map(|command| i64::from(command.most))
            .sum::<i64>();
    let mut number = |command: &SpawnCommand| {
        if command.soft.is_empty() {
            return (left >= 0).then_some(command.most);
        }
        let most = u32::try_from(left).ok()?;
        let number = soft::largest(&command.soft, command.most, most)?;
        left -= i64::from(number);
        Some(number)
    };
    let numbers: Option<Vec<u32>> = commands.iter().map(&mut number).collect();
    numbers.ok_or_else(|| match spare {
        0 => "the job has no spare nodes left; `--spare NODES` provides them".into(),
        _ => format!(
            "it requests {}, and the job has {spare} spare nodes left; `--spare NODES` provides more",
            commands.iter().map(|command| u64::from(command.most)).sum::<u64>()
        ),
    })
}

/// Checks whether the program of a node has ended with success and has left nothing in it, so that another one can run
/// there.
fn is_free(plan: &JobPlan<'_>, pool: &InstancePool, rank: u32) -> bool {
    let node = &pool.nodes[rank as usize];
    let is_gone = pool.instances[node.instance].gone.is_some();
    rank >= plan.ranks()
        && !is_gone
        && node.state() == Ok(NodeState::Done)
        && node.control_word(AT_RESTS) == Some(1)
        && node.snapshot().is_ok_and(|account| account.status == 0)
}

/// Returns the first of so many adjacent nodes, each free or never started; the number of the latter that are left if there
/// are not enough.
fn find_nodes(plan: &JobPlan<'_>, pool: &InstancePool, count: u32) -> Result<u32, u32> {
    let (nodes, started) = (plan.shape.nodes(), pool.nodes.len() as u32);
    let mut first = plan.ranks();
    for rank in plan.ranks()..started {
        if rank - first == count {
            break;
        }
        if !is_free(plan, pool, rank) {
            first = rank + 1;
        }
    }
    if first.saturating_add(count) <= nodes {
        Ok(first)
    } else {
        Err(nodes - first)
    }
}

/// Starts the processes of a request: in nodes whose programs have ended, and behind all others. `None`: these nodes are
/// not handed over yet. Returns why none was started.
pub fn start_processes(
    plan: &JobPlan<'_>,
    pool: &mut InstancePool,
    universe: &mut Universe,
    rank: u32,
    request: &[Vec<u8>],
) -> Result<Option<StartedProcesses>, String> {
    match universe.pending_start {
        // One at a time.
        Some(start) if start.rank != rank => return Ok(None),
        _ => {}
    }
    let requester = Requester::of(&pool.instances[pool.nodes[rank as usize].instance]);
    let commands = commands(request, &requester)?;
    let executables: Vec<PathBuf> = { commands.iter() }
        .map(|command| find_executable(command, &requester))
        .collect::<Result<_, _>>()?;
    if let Some(command) = commands.iter().find(|command| !command.directory.is_dir()) {
        return Err(format!("there is no directory {}", command.directory.display()));
    }
    let (start, numbers) = match universe.pending_start {
        Some(start) => (start, numbers(&commands, start.count)?),
        None => choose_nodes(plan, pool, rank, &commands)?,
    };
    universe.pending_start = Some(start);
    if !are_handed_over(pool, universe, start) {
        return Ok(None);
    }
    let app = AppStart {
        environment: plan.app(rank).1.environment,
        view: WorldView {
            first: start.first,
            size: start.count,
            universe: plan.universe.map_or(0, |universe| universe.size),
            appnum: 0,
            parent: Some(rank),
        },
    };
    let list = CommandList {
        commands: &commands,
        executables: &executables,
        numbers: &numbers,
    };
    let started = start_commands(plan, pool, universe, &app, &list);
    universe.pending_start = None;
    started.map_err(|why| why.to_string())?;
    Ok(Some(StartedProcesses {
        first: start.first,
        numbers,
    }))
}

/// Returns the nodes for the processes of a request, and the number of processes of each command.
fn choose_nodes(
    plan: &JobPlan<'_>,
    pool: &InstancePool,
    rank: u32,
    commands: &[SpawnCommand],
) -> Result<(PendingStart, Vec<u32>), String> {
    let of_job = if plan.universe.is_some() { plan.shape.nodes() } else { 0 };
    // As many as there are, if `soft` permits fewer than requested.
    let all = commands
        .iter()
        .fold(0, |sum: u32, command| sum.saturating_add(command.most));
    let spare = match find_nodes(plan, pool, all) {
        Ok(_) => all,
        Err(left) => left,
    };
    let numbers = numbers(commands, spare.min(of_job))?;
    let count = numbers.iter().sum();
    let first = find_nodes(plan, pool, count).map_err(|left| format!("the job has {left} spare nodes left"))?;
    Ok((PendingStart { rank, first, count }, numbers))
}

/// Requests the nodes of a start from their processes. Returns whether these have ended.
fn are_handed_over(pool: &InstancePool, universe: &Universe, start: PendingStart) -> bool {
    let mut are_all = true;
    for rank in start.first..start.first + start.count {
        let Some(node) = pool.nodes.get(rank as usize) else {
            continue;
        };
        if pool.instances[node.instance].gone.is_none() || !universe.is_handed_over(rank) {
            are_all = false;
            node.set_control_word(AT_HANDS_OVER, 1);
            universe.wake(rank);
        }
    }
    are_all
}

/// Common part of the processes of a start.
struct AppStart<'a> {
    environment: &'a [Vec<u8>],
    view: WorldView,
}

/// Commands, their executables and numbers of processes.
struct CommandList<'a> {
    commands: &'a [SpawnCommand],
    executables: &'a [PathBuf],
    numbers: &'a [u32],
}

/// Starts the processes of the commands in adjacent nodes.
fn start_commands(
    plan: &JobPlan<'_>,
    pool: &mut InstancePool,
    universe: &mut Universe,
    app: &AppStart<'_>,
    list: &CommandList<'_>,
) -> Result<(), CliError> {
    let mut rank = app.view.first;
    let each = { list.commands.iter() }
        .zip(list.executables)
        .zip(list.numbers)
        .enumerate();
    for (appnum, ((command, image), number)) in each {
        let view = WorldView {
            appnum: appnum as u32,
            ..app.view
        };
        let program = ProcessProgram {
            image: image.clone(),
            argv: &command.argv,
            environment: app.environment,
            directory: Some(&command.directory),
        };
        for _ in 0..*number {
            start_in(plan, pool, universe, rank, &program, view)?;
            rank += 1;
        }
    }
    Ok(())
}

/// Starts a process in a node: behind all others, or in one that was handed over.
fn start_in(
    plan: &JobPlan<'_>,
    pool: &mut InstancePool,
    universe: &mut Universe,
    rank: u32,
    program: &ProcessProgram<'_>,
    view: WorldView,
) -> Result<(), CliError> {
    let at = rank as usize;
    if let Some(node) = pool.nodes.get(at) {
        universe.earlier.add(node);
        pool.instances[node.instance].retire();
        universe.clear_account(rank);
    }
    let instance = start(plan, rank, program, Some(view), &universe.shared, &universe.pipes)?;
    let mut node = Node::from_process(
        rank,
        coord(&plan.shape, rank)?,
        pool.instances.len(),
        &universe.shared,
        universe.account(rank),
    );
    let known = fs::canonicalize(&plan.image(rank).path).ok();
    node.has_own_program = known != fs::canonicalize(&program.image).ok();
    pool.instances.push(instance);
    match pool.nodes.get_mut(at) {
        Some(place) => *place = node,
        None => pool.nodes.push(node),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(most: u32, soft: &str) -> SpawnCommand {
        SpawnCommand {
            command: "program".into(),
            most,
            soft: soft.into(),
            directory: "/".into(),
            path: String::new(),
            argv: Vec::new(),
        }
    }

    #[test]
    fn fewer_processes_are_started_only_where_that_is_permitted() {
        let numbers = |commands: &[SpawnCommand], spare| super::numbers(commands, spare).ok();
        assert_eq!(numbers(&[command(3, ""), command(2, "")], 5), Some(vec![3, 2]));
        assert_eq!(numbers(&[command(3, ""), command(2, "")], 4), None);
        assert_eq!(numbers(&[command(3, "1:3"), command(2, "")], 4), Some(vec![2, 2]));
        assert_eq!(numbers(&[command(3, "3"), command(2, "")], 4), None);
        assert_eq!(numbers(&[command(1, "")], 0), None);
    }
}
