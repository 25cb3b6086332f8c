//! Models: variables, steps, invariants, properties and mutants, and the parser of their text.
//!
//! # Statements
//! A statement is a line. A line that begins with `=>`, `|` or `&` continues the line before it. `--` begins a comment;
//! comment lines directly before a statement describe it.
//!
//! | statement | meaning |
//! |---|---|
//! | `index message m i j` | a kind of index, and the names of variables that range over it |
//! | `const name = 3` | a constant |
//! | `def name(m) = formula` | an abbreviation |
//! | `int a = 0`, `bool b = false` | a state variable and its first value |
//! | `int f(message) = 0`, `bool g(message) = false` | a function of the state; its first value at every index |
//! | `fixed bool r(receive, message)`, `fixed int k(node): node` | an arbitrary relation or number that no step changes |
//! | `axiom name(m): formula` | an assumption about fixed values |
//! | `step name(m)`, `event name(m)` | a step; an event is a step of the environment |
//! | `when name: formula` | a guard of the last step; `when name(i): formula` holds for all `i` |
//! | `set a := term`, `set f(m) := term` | an effect of the last step; all others keep their values |
//! | `invariant name(m, i): formula` | a clause of the invariant |
//! | `property name(m): formula` | a consequence of the invariant |
//! | `property name(i) at step: formula` | the same where `step` can happen |
//! | `rank name = term`, `rank name(m) = term` | parts of the ranking function: every step, but no event, reduces their sum |
//! | `epoch name = term` | a term whose change exempts a step from that |
//! | `mutant name: change; change` | a broken variant; a change is `drop step.guard`, `const name = 1`, or `set step.variable := term` |
//! | `redundant name: change` | a variant that must still be proved |
#![forbid(unsafe_code)]

use crate::expr::{Definitions, Expr, SyntaxError, tokens};
use std::collections::BTreeMap;

/// Sort of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// An integer.
    Int,
    /// A truth value.
    Bool,
}

/// A state variable or function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Kinds of its indexes; none for a variable.
    pub kinds: Vec<String>,
    /// Sort of its values.
    pub sort: Sort,
    /// The kind of index that its values are, if they are indexes.
    pub value_kind: Option<String>,
    /// First value; `None` for a fixed one, which is arbitrary.
    pub first: Option<Expr>,
}

/// A named formula with variables: it holds for all their values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clause {
    /// Its name.
    pub name: String,
    /// Its variables.
    pub vars: Vec<String>,
    /// The formula.
    pub formula: Expr,
    /// Its description: the comment before it.
    pub doc: String,
}

/// An effect: the variable or function, its index, and the new value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effect {
    /// Name of the variable.
    pub name: String,
    /// Indexes; none for a variable.
    pub at: Vec<Expr>,
    /// New value, a term over the state before the step.
    pub value: Expr,
}

/// A step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<String>,
    /// A step of the environment, which the ranking function does not bound.
    pub is_event: bool,
    /// Its guards.
    pub guards: Vec<Clause>,
    /// Its effects.
    pub effects: Vec<Effect>,
    /// Its description.
    pub doc: String,
}

/// A consequence of the invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Property {
    /// The formula.
    pub clause: Clause,
    /// The step that must be possible.
    pub at: Option<String>,
}

/// A broken variant of the model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mutant {
    /// Its name.
    pub name: String,
    /// Its description.
    pub doc: String,
    /// The changes.
    pub changes: Vec<String>,
    /// The proof must succeed in spite of the change.
    pub is_redundant: bool,
}

/// A model.
#[derive(Clone, Default, Debug)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// Its description.
    pub doc: String,
    text: String,
    kinds: BTreeMap<String, String>,
    /// State variables and functions.
    pub variables: Vec<Variable>,
    /// Assumptions.
    pub axioms: Vec<Clause>,
    /// Steps and events.
    pub steps: Vec<Step>,
    /// Clauses of the invariant.
    pub invariants: Vec<Clause>,
    /// Its consequences.
    pub properties: Vec<Property>,
    /// The ranking function: terms without variables, or with one.
    pub ranks: Vec<Clause>,
    /// A number of events: a step that changes it need not reduce the rank.
    pub epoch: Option<Clause>,
    /// Broken variants.
    pub mutants: Vec<Mutant>,
    definitions: Definitions,
}

fn wrong(line: &str, reason: &str) -> SyntaxError {
    SyntaxError(format!("{reason}: `{line}`"))
}

/// Splits `name(a, b) rest` into the name, the variables and the rest.
fn head(text: &str) -> (String, Vec<String>, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if let Some(inner) = rest.strip_prefix('(')
        && let Some((vars, rest)) = inner.split_once(')')
    {
        let vars = vars.split(',').map(|var| var.trim().to_string()).collect();
        return (name.to_string(), vars, rest.trim());
    }
    (name.to_string(), Vec::new(), rest.trim())
}

impl Model {
    /// Parses a model.
    pub fn parse(name: &str, text: &str) -> Result<Model, SyntaxError> {
        Self::parse_with(name, text, &[])
    }

    /// Parses a model with other values of some constants.
    fn parse_with(name: &str, text: &str, constants: &[(String, i64)]) -> Result<Model, SyntaxError> {
        let mut model = Model {
            name: name.to_string(),
            text: text.to_string(),
            ..Model::default()
        };
        let mut doc: Vec<&str> = Vec::new();
        let mut lines: Vec<(String, String)> = Vec::new();
        for line in text.lines().map(str::trim) {
            if let Some(comment) = line.strip_prefix("--") {
                doc.push(comment.trim());
            } else if line.is_empty() {
                if lines.is_empty() && !doc.is_empty() {
                    model.doc = doc.join(" ");
                }
                doc.clear();
            } else if ["=>", "|", "&"].iter().any(|symbol| line.starts_with(symbol)) {
                let (last, _) = lines.last_mut().ok_or_else(|| wrong(line, "nothing to continue"))?;
                *last = format!("{last} {line}");
            } else {
                lines.push((line.to_string(), doc.join(" ")));
                doc.clear();
            }
        }
        for (line, doc) in lines {
            model.statement(&line, doc, constants)?;
        }
        Ok(model)
    }

    fn statement(&mut self, line: &str, doc: String, constants: &[(String, i64)]) -> Result<(), SyntaxError> {
        let (keyword, rest) = line.split_once(' ').ok_or_else(|| wrong(line, "an incomplete line"))?;
        let (name, vars, tail) = head(rest);
        match keyword {
            "index" => {
                let names = tail.split_whitespace().map(|var| (var.to_string(), name.clone()));
                self.kinds.extend(names);
            }
            "const" | "def" => {
                let body = tail.strip_prefix('=').ok_or_else(|| wrong(line, "no `=`"))?;
                let mut body = self.formula(body)?;
                if let Some((_, value)) = constants.iter().find(|(known, _)| *known == name) {
                    body = Expr::Int(*value);
                }
                self.definitions.insert(name, (vars, body));
            }
            "int" | "bool" => self.variable(keyword, name, vars, tail, line)?,
            "fixed" => {
                let (sort, rest) = rest.split_once(' ').ok_or_else(|| wrong(line, "no name"))?;
                let (name, kinds, tail) = head(rest);
                let kind = tail.trim_start_matches(':').trim();
                self.variables.push(Variable {
                    name,
                    kinds,
                    sort: if sort == "bool" { Sort::Bool } else { Sort::Int },
                    value_kind: (!kind.is_empty()).then(|| kind.to_string()),
                    first: None,
                });
            }
            "step" | "event" => self.steps.push(Step {
                name,
                params: vars,
                is_event: keyword == "event",
                guards: Vec::new(),
                effects: Vec::new(),
                doc,
            }),
            "set" => {
                let effect = self.effect(rest)?;
                self.last_step(line)?.effects.push(effect);
            }
            "when" => {
                let clause = self.clause(rest, doc)?;
                self.last_step(line)?.guards.push(clause);
            }
            "axiom" => self.axioms.push(self.clause(rest, doc)?),
            "invariant" => self.invariants.push(self.clause(rest, doc)?),
            "property" => {
                let (head, _) = rest.split_once(':').ok_or_else(|| wrong(line, "no `:`"))?;
                let at = head.split_once(" at ").map(|(_, step)| step.trim().to_string());
                let clause = self.clause(rest, doc)?;
                self.properties.push(Property { clause, at });
            }
            "rank" => {
                let rank = self.measure(name, vars, tail, line)?;
                self.ranks.push(rank);
            }
            "epoch" => self.epoch = Some(self.measure(name, vars, tail, line)?),
            "mutant" | "redundant" => self.mutants.push(Mutant {
                name,
                doc,
                changes: tail
                    .trim_start_matches(':')
                    .split(';')
                    .map(|change| change.trim().to_string())
                    .collect(),
                is_redundant: keyword == "redundant",
            }),
            _ => return Err(wrong(line, "an unknown statement")),
        }
        Ok(())
    }

    fn variable(
        &mut self,
        keyword: &str,
        name: String,
        kinds: Vec<String>,
        tail: &str,
        line: &str,
    ) -> Result<(), SyntaxError> {
        let (kind, first) = tail.split_once('=').ok_or_else(|| wrong(line, "no first value"))?;
        let kind = kind.trim().trim_start_matches(':').trim();
        let first = Some(self.formula(first)?);
        self.variables.push(Variable {
            name,
            kinds,
            sort: if keyword == "bool" { Sort::Bool } else { Sort::Int },
            value_kind: (!kind.is_empty()).then(|| kind.to_string()),
            first,
        });
        Ok(())
    }

    fn measure(&self, name: String, vars: Vec<String>, tail: &str, line: &str) -> Result<Clause, SyntaxError> {
        let text = tail.strip_prefix('=').ok_or_else(|| wrong(line, "no `=`"))?;
        Ok(Clause {
            name,
            vars,
            formula: self.formula(text)?,
            doc: String::new(),
        })
    }

    fn last_step(&mut self, line: &str) -> Result<&mut Step, SyntaxError> {
        self.steps.last_mut().ok_or_else(|| wrong(line, "no step before it"))
    }

    fn formula(&self, text: &str) -> Result<Expr, SyntaxError> {
        Expr::parse(text, &self.definitions)
    }

    fn clause(&self, text: &str, doc: String) -> Result<Clause, SyntaxError> {
        let (first, formula) = text.split_once(':').ok_or_else(|| wrong(text, "no `:`"))?;
        let (name, vars, _) = head(first);
        if let Some(var) = vars.iter().find(|var| self.kind_of(var).is_none()) {
            return Err(wrong(text, &format!("`{var}` is no index variable")));
        }
        Ok(Clause {
            name,
            vars,
            formula: self.formula(formula)?,
            doc,
        })
    }

    fn effect(&self, text: &str) -> Result<Effect, SyntaxError> {
        let (target, value) = text.split_once(":=").ok_or_else(|| wrong(text, "no `:=`"))?;
        let (name, at) = match self.formula(target)? {
            Expr::Name(name) => (name, Vec::new()),
            Expr::Call(name, at) => (name, at),
            _ => return Err(wrong(text, "no variable to set")),
        };
        Ok(Effect {
            name,
            at,
            value: self.formula(value)?,
        })
    }

    /// Returns the kind of index that a variable of a clause ranges over.
    pub fn kind_of(&self, var: &str) -> Option<&str> {
        self.kinds.get(var).map(String::as_str)
    }

    /// Returns a state variable.
    pub fn variable_named(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }

    /// Returns a step.
    pub fn step_named(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.name == name)
    }

    /// Returns the value of a constant.
    pub fn constant(&self, name: &str) -> Option<i64> {
        match self.definitions.get(name) {
            Some((_, Expr::Int(value))) => Some(*value),
            _ => None,
        }
    }

    /// Returns the model after the changes of a mutant.
    pub fn mutated(&self, mutant: &Mutant) -> Result<Model, SyntaxError> {
        let mut constants = Vec::new();
        for change in &mutant.changes {
            if let Some(constant) = change.strip_prefix("const ") {
                let parts = tokens(constant)?;
                let [name, _, value] = &parts[..] else {
                    return Err(wrong(change, "no `name = number`"));
                };
                let value = value.parse().map_err(|_| wrong(change, "no number"))?;
                constants.push((name.clone(), value));
            }
        }
        let mut model = Self::parse_with(&self.name, &self.text, &constants)?;
        for change in mutant.changes.iter().filter(|change| !change.starts_with("const ")) {
            model.change(change)?;
        }
        Ok(model)
    }

    fn change(&mut self, change: &str) -> Result<(), SyntaxError> {
        let unknown = || wrong(change, "an unknown change");
        let (verb, rest) = change.split_once(' ').ok_or_else(unknown)?;
        let (step, rest) = rest.split_once('.').ok_or_else(unknown)?;
        let effect = (verb == "set").then(|| self.effect(rest)).transpose()?;
        let step = self
            .steps
            .iter_mut()
            .find(|known| known.name == step)
            .ok_or_else(unknown)?;
        match (verb, effect) {
            ("drop", _) => {
                let before = step.guards.len();
                step.guards.retain(|guard| guard.name != rest);
                (step.guards.len() < before).then_some(()).ok_or_else(unknown)
            }
            ("set", Some(effect)) => {
                step.effects
                    .retain(|known| (&known.name, &known.at) != (&effect.name, &effect.at));
                step.effects.push(effect);
                Ok(())
            }
            _ => Err(unknown()),
        }
    }
}
