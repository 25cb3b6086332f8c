//! Values of a model's state: evaluates the formulas that are proved.
#![forbid(unsafe_code)]

use crate::expr::{Expr, Op};
use crate::model::{Clause, Model, Step};
use std::collections::BTreeMap;

/// A state: an integer for each variable; a truth value is 0 or 1.
#[derive(Clone, Debug)]
pub struct State<'a> {
    model: &'a Model,
    variables: BTreeMap<&'a str, i64>,
    functions: BTreeMap<(&'a str, Vec<i64>), i64>,
    /// Number of indexes of each kind: a clause is checked for the indexes from 0 to this number.
    sizes: BTreeMap<&'a str, i64>,
}

/// Values of the variables of a clause or a step.
pub type Values = [(String, i64)];

impl<'a> State<'a> {
    /// Creates the first state.
    pub fn first(model: &'a Model) -> Self {
        State {
            model,
            variables: BTreeMap::new(),
            functions: BTreeMap::new(),
            sizes: BTreeMap::new(),
        }
    }

    /// Sets the number of indexes of a kind.
    pub fn set_size(&mut self, kind: &'a str, size: usize) {
        self.sizes.insert(kind, size as i64);
    }

    /// Sets a variable, or a function at an index.
    pub fn set(&mut self, name: &'a str, at: &[i64], value: i64) {
        debug_assert!(self.model.variable_named(name).is_some(), "{name}");
        if at.is_empty() {
            self.variables.insert(name, value);
        } else {
            self.functions.insert((name, at.to_vec()), value);
        }
    }

    /// Returns the value of a variable, or of a function at an index. A value that is not set is the first one.
    pub fn get(&self, name: &str, at: &[i64]) -> i64 {
        let value = if at.is_empty() {
            self.variables.get(name)
        } else {
            self.functions.get(&(name, at.to_vec()))
        };
        value.copied().unwrap_or_else(|| {
            let first = self
                .model
                .variable_named(name)
                .and_then(|variable| variable.first.as_ref());
            first.map_or(0, |first| self.value(first, &[]))
        })
    }

    /// Evaluates a formula.
    pub fn value(&self, expr: &Expr, values: &Values) -> i64 {
        let of = |expr: &Expr| self.value(expr, values);
        match expr {
            Expr::Int(value) => *value,
            Expr::Bool(value) => i64::from(*value),
            Expr::Name(name) => match values.iter().find(|(known, _)| known == name) {
                Some((_, value)) => *value,
                None => self.get(name, &[]),
            },
            Expr::Call(name, at) => self.get(name, &at.iter().map(of).collect::<Vec<_>>()),
            Expr::Op(op, operands) => {
                let binary = || (of(&operands[0]), of(&operands[1]));
                let truth = |value: bool| i64::from(value);
                match op {
                    Op::And => truth(operands.iter().all(|operand| of(operand) != 0)),
                    Op::Or => truth(operands.iter().any(|operand| of(operand) != 0)),
                    Op::Not => truth(of(&operands[0]) == 0),
                    Op::Implies => truth(of(&operands[0]) == 0 || of(&operands[1]) != 0),
                    Op::Eq => truth(binary().0 == binary().1),
                    Op::Ne => truth(binary().0 != binary().1),
                    Op::Le => truth(binary().0 <= binary().1),
                    Op::Lt => truth(binary().0 < binary().1),
                    Op::Add => binary().0 + binary().1,
                    Op::Sub => binary().0 - binary().1,
                    Op::Mod => binary().0.rem_euclid(binary().1.max(1)),
                    Op::If if of(&operands[0]) != 0 => of(&operands[1]),
                    Op::If => of(&operands[2]),
                }
            }
        }
    }

    /// Calls `check` with all values of the variables until it returns false; returns whether it never did.
    fn for_all(
        &self,
        vars: &[String],
        values: &mut Vec<(String, i64)>,
        check: &mut dyn FnMut(&Values) -> bool,
    ) -> bool {
        let Some((var, rest)) = vars.split_first() else {
            return check(values);
        };
        let size = self
            .model
            .kind_of(var)
            .and_then(|kind| self.sizes.get(kind))
            .copied()
            .unwrap_or(0);
        (0..size).all(|value| {
            values.push((var.clone(), value));
            let holds = self.for_all(rest, values, check);
            values.pop();
            holds
        })
    }

    /// Returns whether a clause holds for all values of its variables, with these of others.
    pub fn holds(&self, clause: &Clause, values: &Values) -> bool {
        let mut check = |values: &Values| self.value(&clause.formula, values) != 0;
        self.for_all(&clause.vars, &mut values.to_vec(), &mut check)
    }

    /// Returns the name of a clause of the invariant that does not hold.
    pub fn violated(&self) -> Option<&'a str> {
        let mut clauses = self.model.invariants.iter();
        clauses
            .find(|clause| !self.holds(clause, &[]))
            .map(|clause| clause.name.as_str())
    }

    /// Returns the name of a guard of a step with these parameters that does not hold.
    pub fn refused(&self, step: &'a Step, params: &Values) -> Option<&'a str> {
        let mut guards = step.guards.iter();
        guards
            .find(|guard| !self.holds(guard, params))
            .map(|guard| guard.name.as_str())
    }

    /// Returns the state after a step with these parameters.
    pub fn after(&self, step: &'a Step, params: &Values) -> State<'a> {
        let mut next = self.clone();
        for effect in &step.effects {
            let at: Vec<i64> = effect.at.iter().map(|at| self.value(at, params)).collect();
            next.set(&effect.name, &at, self.value(&effect.value, params));
        }
        next
    }
}
