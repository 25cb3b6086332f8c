//! `midplane prove`: proves the theorems of the protocol models with an SMT solver.

use crate::host::error::CliError;
use crate::show::console::print_line;
use clap::{Args, ValueEnum};
use midplane_proofs::model::{Model, Mutant};
use midplane_proofs::models;
use midplane_proofs::prove::Theorem;
use midplane_proofs::solver::{Proof, Solver};
use std::io;
use std::time::Duration;

/// Options of `midplane prove`.
#[derive(Args, Debug)]
#[command(after_help = "Example: cargo midplane prove --solver cvc5 pair")]
pub struct ProveArgs {
    /// SMT solver, a program in PATH
    #[arg(long, value_name = "NAME", default_value = "z3")]
    solver: SolverName,

    /// Break each rule of the models in turn, and require that a proof fails
    #[arg(long)]
    mutants: bool,

    /// Print the clauses of the models' invariants, and prove nothing
    #[arg(long, conflicts_with = "mutants")]
    clauses: bool,

    /// Only the theorems or mutants whose names contain one of these texts
    #[arg(value_name = "THEOREM")]
    only: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum, Debug)]
enum SolverName {
    /// Z3 4.8 or later
    Z3,
    /// Cvc5 1.0 or later
    Cvc5,
}

impl ProveArgs {
    fn selects(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|text| name.contains(text.as_str()))
    }
}

/// Runs the command; returns the exit status: 0 if all theorems are proved (all mutants are found), otherwise 1.
pub fn run(options: &ProveArgs) -> Result<u8, CliError> {
    let solver = match options.solver {
        SolverName::Z3 => Solver::Z3,
        SolverName::Cvc5 => Solver::Cvc5,
    };
    let models = models::all().map_err(|error| CliError::failure(format!("a model is not valid: {error}")))?;
    if options.clauses {
        return print_clauses(options, &models);
    }
    let version = solver.version().map_err(|error| missing(solver, &error))?;
    print_line(format_args!("{version}"))?;
    let mut session = Session {
        solver,
        proved: 0,
        failed: 0,
        time: Duration::ZERO,
    };
    for model in &models {
        if options.mutants {
            for mutant in model.mutants.iter() {
                if options.selects(&format!("{}: {}", model.name, mutant.name)) {
                    session.break_rule(model, mutant)?;
                }
            }
        } else {
            for theorem in model.theorems() {
                if options.selects(&theorem.name) {
                    session.prove(&theorem)?;
                }
            }
        }
    }
    let Session {
        proved, failed, time, ..
    } = session;
    if proved + failed == 0 {
        return Err(CliError::usage("prove: no theorem has such a name"));
    }
    let noun = if options.mutants {
        "mutants as stated"
    } else {
        "theorems proved"
    };
    print_line(format_args!(
        "{proved} {noun}, {failed} failed, {:.1} s in {solver}",
        time.as_secs_f64()
    ))?;
    Ok(u8::from(failed > 0))
}

fn missing(solver: Solver, error: &io::Error) -> CliError {
    let install = match solver {
        Solver::Z3 => "`apt install z3`, or `pip install z3-solver`",
        Solver::Cvc5 => "`apt install cvc5`",
    };
    CliError::unusable(format!(
        "prove: `{solver}` cannot be started ({error}); install it: {install}"
    ))
}

fn print_clauses(options: &ProveArgs, models: &[Model]) -> Result<u8, CliError> {
    for model in models {
        for clause in &model.invariants {
            let name = format!("{}: {}", model.name, clause.name);
            if options.selects(&name) {
                print_line(format_args!("{name}  {}", clause.doc))?;
            }
        }
    }
    Ok(0)
}

/// A run of the solver over theorems.
struct Session {
    solver: Solver,
    proved: usize,
    failed: usize,
    time: Duration,
}

impl Session {
    fn ask(&mut self, theorem: &Theorem) -> Result<Proof, CliError> {
        let proof = self.solver.prove(theorem);
        let proof = proof.map_err(|error| CliError::failure(format!("prove: {}: {error}", theorem.name)))?;
        self.time += proof.time;
        Ok(proof)
    }

    fn count(&mut self, is_proved: bool) {
        self.proved += usize::from(is_proved);
        self.failed += usize::from(!is_proved);
    }

    fn prove(&mut self, theorem: &Theorem) -> Result<(), CliError> {
        let proof = self.ask(theorem)?;
        let word = if proof.failed.is_empty() { "proved" } else { "FAILED" };
        let seconds = proof.time.as_secs_f64();
        let failed = proof
            .failed
            .iter()
            .map(|(clause, answer)| format!("; {clause}: {answer}"));
        let failed: String = failed.collect();
        print_line(format_args!(
            "{word} {seconds:6.2} s {} {}{failed}",
            self.solver, theorem.name
        ))?;
        self.count(proof.failed.is_empty());
        Ok(())
    }

    /// Proves the theorems of a broken variant until one fails.
    fn break_rule(&mut self, model: &Model, mutant: &Mutant) -> Result<(), CliError> {
        let name = format!("{}: {}", model.name, mutant.name);
        let broken = model.mutated(mutant);
        let broken = broken.map_err(|error| CliError::failure(format!("prove: {name}: {error}")))?;
        let mut found = None;
        // Theorems about the changed steps are the most likely to fail.
        let is_changed = |theorem: &Theorem| {
            let step = |change: &String| {
                change
                    .split([' ', '.'])
                    .nth(1)
                    .is_some_and(|step| theorem.name.contains(step))
            };
            mutant.changes.iter().any(step)
        };
        let (changed, others): (Vec<_>, Vec<_>) = broken.theorems().into_iter().partition(is_changed);
        for theorem in changed.into_iter().chain(others) {
            if let Some((clause, answer)) = self.ask(&theorem)?.failed.first() {
                found = Some(format!("{}: {clause} {answer}", theorem.name));
                break;
            }
        }
        let is_as_stated = found.is_none() == mutant.is_redundant;
        let word = match (is_as_stated, mutant.is_redundant) {
            (true, false) => "breaks the proof",
            (true, true) => "is redundant",
            (false, false) => "BREAKS NOTHING",
            (false, true) => "IS NOT REDUNDANT",
        };
        let found = found.map_or(String::new(), |found| format!(" ({found})"));
        print_line(format_args!("{name} {word}{found}"))?;
        self.count(is_as_stated);
        Ok(())
    }
}
