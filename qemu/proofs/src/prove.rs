//! Proof obligations of a model.
//!
//! | theorem | obligation |
//! |---|---|
//! | `initial` | each clause of the invariant holds in the first states |
//! | `STEP` | a step from a state with the invariant leads to one with each clause |
//! | `STEP can happen` | a state with the invariant exists in which the guards hold: the model is not vacuous |
//! | `property NAME` | the invariant implies the property |
//! | `STEP reduces the rank` | the sum of the ranking function becomes smaller, and each of its parts is at least 0 |
#![forbid(unsafe_code)]

use crate::expr::{Expr, Op};
use crate::model::{Clause, Model, Step};
use crate::smt;

/// A theorem: queries that a solver must answer.
#[derive(Clone, Debug)]
pub struct Theorem {
    /// Model and name.
    pub name: String,
    /// The queries: for each clause, its name and the text.
    pub queries: Vec<Query>,
}

/// A query to a solver.
#[derive(Clone, Debug)]
pub struct Query {
    /// Name of the clause.
    pub name: String,
    /// Declarations and assertions in SMT-LIB 2, with the hypotheses for the named indexes only.
    pub text: String,
    /// The same with the hypotheses for the values of functions, too; for a query that fails without them.
    pub full: String,
    /// The solver must find a model (`sat`), or show that none exists (`unsat`).
    pub expects_model: bool,
}

/// A named index of a query, with its kind.
type Index = (Expr, String);

/// A query under construction.
struct Builder<'a> {
    model: &'a Model,
    indexes: Vec<Index>,
}

/// Returns a clause with its variables replaced by constants of distinct names.
fn with_constants(clause: &Clause, prefix: &str) -> Expr {
    let renamed = |var: &String| (var.clone(), Expr::Name(format!("{prefix}{var}")));
    let values: Vec<_> = clause.vars.iter().map(renamed).collect();
    clause.formula.with(&values)
}

impl<'a> Builder<'a> {
    fn new(model: &'a Model) -> Self {
        let state = model.variables.iter().filter(|variable| variable.kinds.is_empty());
        let indexes =
            state.filter_map(|variable| Some((Expr::Name(variable.name.clone()), variable.value_kind.clone()?)));
        Builder {
            model,
            indexes: indexes.collect(),
        }
    }

    fn add(&mut self, vars: &[String], prefix: &str) {
        for var in vars {
            let kind = self.model.kind_of(var).unwrap_or_default().to_string();
            let index = (Expr::Name(format!("{prefix}{var}")), kind);
            if !self.indexes.contains(&index) {
                self.indexes.push(index);
            }
        }
    }

    /// Adds the values of functions whose values are indexes, for all indexes so far.
    fn close(&mut self) {
        let known = self.indexes.clone();
        let unary = |kinds: &[String], kind: &String| kinds.len() == 1 && kinds[0] == *kind;
        for variable in self.model.variables.iter() {
            let Some(value_kind) = &variable.value_kind else {
                continue;
            };
            for (index, _) in known.iter().filter(|(_, kind)| unary(&variable.kinds, kind)) {
                let call = Expr::Call(variable.name.clone(), vec![index.clone()]);
                self.indexes.push((call, value_kind.clone()));
            }
        }
    }

    /// Returns the instances of a clause for all combinations of the indexes.
    fn instances(&self, clause: &Clause) -> Vec<Expr> {
        let mut all: Vec<Vec<(String, Expr)>> = vec![Vec::new()];
        for var in &clause.vars {
            let kind = self.model.kind_of(var);
            let of_kind = || self.indexes.iter().filter(|(_, of)| Some(of.as_str()) == kind);
            all = all
                .into_iter()
                .flat_map(|values| {
                    of_kind().map(move |(index, _)| {
                        let mut values = values.clone();
                        values.push((var.clone(), index.clone()));
                        values
                    })
                })
                .collect();
        }
        all.iter().map(|values| clause.formula.with(values)).collect()
    }

    /// Returns the query; adds indexes to the builder.
    fn query(mut self, name: &str, hypotheses: &[&Clause], facts: Vec<Expr>, expects_model: bool) -> Query {
        let text = self.text(hypotheses, &facts);
        self.close();
        let full = self.text(hypotheses, &facts);
        Query {
            name: name.to_string(),
            text: if expects_model { full.clone() } else { text },
            full,
            expects_model,
        }
    }

    fn text(&self, hypotheses: &[&Clause], facts: &[Expr]) -> String {
        let mut text = smt::declarations(self.model);
        for (index, _) in &self.indexes {
            if let Expr::Name(index) = index
                && self.model.variable_named(index).is_none()
            {
                text.push_str(&format!("(declare-fun {} () Int)\n", smt::symbol(index)));
            }
        }
        let instances = hypotheses.iter().flat_map(|clause| self.instances(clause));
        for fact in instances.chain(facts.iter().cloned()) {
            text.push_str("(assert ");
            smt::write(&fact, &mut text);
            text.push_str(")\n");
        }
        text.push_str("(check-sat)\n");
        text
    }
}

impl Model {
    /// Returns a formula over the state before a step that equals `formula` after the step.
    fn after(&self, step: &Step, formula: &Expr) -> Expr {
        formula.map(&|part| {
            let (name, at): (&String, &[Expr]) = match part {
                Expr::Name(name) => (name, &[]),
                Expr::Call(name, at) => (name, at),
                _ => return None,
            };
            let effects = step.effects.iter().filter(|effect| effect.name == *name);
            effects.fold(None, |before: Option<Expr>, effect| {
                if at.is_empty() {
                    return Some(effect.value.clone());
                }
                let same = at
                    .iter()
                    .zip(&effect.at)
                    .map(|(a, b)| Expr::Op(Op::Eq, vec![a.clone(), b.clone()]));
                let before = before.unwrap_or_else(|| part.clone());
                Some(Expr::Op(
                    Op::If,
                    vec![Expr::and(same.collect()), effect.value.clone(), before],
                ))
            })
        })
    }

    /// Returns the guards without variables of their own, and the others.
    fn split_guards<'s>(&self, step: &'s Step) -> (Vec<Expr>, Vec<&'s Clause>) {
        let (plain, general): (Vec<_>, Vec<_>) = step.guards.iter().partition(|guard| guard.vars.is_empty());
        (plain.iter().map(|guard| guard.formula.clone()).collect(), general)
    }

    fn hypotheses<'s>(&'s self, general: &[&'s Clause]) -> Vec<&'s Clause> {
        let own = self.invariants.iter().chain(&self.axioms);
        own.chain(general.iter().copied()).collect()
    }

    /// Returns all theorems of the model.
    pub fn theorems(&self) -> Vec<Theorem> {
        let mut all = vec![self.initial()];
        for step in &self.steps {
            all.push(self.preservation(step));
            all.push(self.possible(step));
            if !step.is_event && !self.ranks.is_empty() {
                all.push(self.ranking(step));
            }
        }
        all.extend(self.properties.iter().map(|property| {
            let step = property.at.as_deref().and_then(|step| self.step_named(step));
            let mut builder = Builder::new(self);
            let (mut facts, general) = step.map(|step| self.split_guards(step)).unwrap_or_default();
            builder.add(step.map_or(&[], |step| &step.params), "");
            builder.add(&property.clause.vars, "_");
            facts.push(with_constants(&property.clause, "_").negated());
            let hypotheses = self.hypotheses(&general);
            let query = builder.query(&property.clause.name, &hypotheses, facts, false);
            self.theorem(format!("property {}", property.clause.name), vec![query])
        }));
        all
    }

    fn theorem(&self, name: String, queries: Vec<Query>) -> Theorem {
        Theorem {
            name: format!("{}: {name}", self.name),
            queries,
        }
    }

    fn initial(&self) -> Theorem {
        let first = |part: &Expr| {
            let (Expr::Name(name) | Expr::Call(name, _)) = part else {
                return None;
            };
            self.variable_named(name)?.first.clone()
        };
        let queries = self.invariants.iter().map(|clause| {
            let mut builder = Builder::new(self);
            builder.add(&clause.vars, "_");
            let goal = with_constants(clause, "_").map(&first).negated();
            let axioms: Vec<&Clause> = self.axioms.iter().collect();
            builder.query(&clause.name, &axioms, vec![goal], false)
        });
        self.theorem("initial".to_string(), queries.collect())
    }

    fn preservation(&self, step: &Step) -> Theorem {
        let (guards, general) = self.split_guards(step);
        let hypotheses = self.hypotheses(&general);
        let queries = self.invariants.iter().filter_map(|clause| {
            let goal = with_constants(clause, "_");
            let after = self.after(step, &goal);
            if after == goal {
                // No variable of the clause changes.
                return None;
            }
            let mut builder = Builder::new(self);
            builder.add(&step.params, "");
            builder.add(&clause.vars, "_");
            let mut facts = guards.clone();
            facts.push(after.negated());
            Some(builder.query(&clause.name, &hypotheses, facts, false))
        });
        self.theorem(step.name.clone(), queries.collect())
    }

    fn possible(&self, step: &Step) -> Theorem {
        let (guards, general) = self.split_guards(step);
        let mut builder = Builder::new(self);
        builder.add(&step.params, "");
        let query = builder.query("guards", &self.hypotheses(&general), guards, true);
        self.theorem(format!("{} can happen", step.name), vec![query])
    }

    /// The ranking function is the sum of its parts; a part with a variable counts once for each index. The sum over
    /// the step's own indexes must become smaller, and no part of another index may grow.
    fn ranking(&self, step: &Step) -> Theorem {
        let (guards, general) = self.split_guards(step);
        let hypotheses = self.hypotheses(&general);
        let mut builder = Builder::new(self);
        builder.add(&step.params, "");
        let mut own = Vec::new();
        let mut fails = Vec::new();
        for rank in &self.ranks {
            let Some(var) = rank.vars.first() else {
                own.push(rank.formula.clone());
                continue;
            };
            let of_kind = || {
                step.params
                    .iter()
                    .filter(|param| self.kind_of(param) == self.kind_of(var))
            };
            own.extend(of_kind().map(|param| rank.formula.with(&[(var.clone(), Expr::Name(param.clone()))])));
            builder.add(&rank.vars, "_");
            let other = with_constants(rank, "_");
            let index = Expr::Name(format!("_{var}"));
            let differs = of_kind().map(|param| Expr::Op(Op::Ne, vec![index.clone(), Expr::Name(param.clone())]));
            let grows = Expr::Op(Op::Lt, vec![other.clone(), self.after(step, &other)]);
            fails.push(Expr::and(differs.chain([grows]).collect()));
        }
        fails.extend(
            own.iter()
                .map(|part| Expr::Op(Op::Lt, vec![part.clone(), Expr::Int(0)])),
        );
        let sum = |parts: Vec<Expr>| {
            parts
                .into_iter()
                .fold(Expr::Int(0), |a, b| Expr::Op(Op::Add, vec![a, b]))
        };
        let after = own.iter().map(|part| self.after(step, part)).collect();
        fails.push(Expr::Op(Op::Le, vec![sum(own), sum(after)]));
        let same_epoch = self.epoch.iter().map(|epoch| {
            let after = self.after(step, &epoch.formula);
            Expr::Op(Op::Eq, vec![epoch.formula.clone(), after])
        });
        let facts = guards
            .into_iter()
            .chain(same_epoch)
            .chain([Expr::Op(Op::Or, fails)])
            .collect();
        let query = builder.query("rank", &hypotheses, facts, false);
        self.theorem(format!("{} reduces the rank", step.name), vec![query])
    }
}
