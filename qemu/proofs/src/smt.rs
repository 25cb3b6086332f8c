//! Formulas in SMT-LIB 2.
#![forbid(unsafe_code)]

use crate::expr::{Expr, Op};
use crate::model::{Model, Sort};
use std::fmt::Write as _;

fn sort_name(sort: Sort) -> &'static str {
    match sort {
        Sort::Int => "Int",
        Sort::Bool => "Bool",
    }
}

/// Returns the declarations of a model's variables. Indexes are integers.
pub(crate) fn declarations(model: &Model) -> String {
    let mut text = String::from("(set-logic ALL)\n");
    for variable in &model.variables {
        let kinds = vec!["Int"; variable.kinds.len()].join(" ");
        let sort = sort_name(variable.sort);
        writeln!(text, "(declare-fun {} ({kinds}) {sort})", symbol(&variable.name)).expect("a string");
    }
    text
}

/// Returns a name that no keyword of the solver equals.
pub(crate) fn symbol(name: &str) -> String {
    format!("${name}")
}

fn operator(op: Op) -> &'static str {
    match op {
        Op::And => "and",
        Op::Or => "or",
        Op::Not => "not",
        Op::Implies => "=>",
        Op::Eq => "=",
        Op::Ne => "distinct",
        Op::Le => "<=",
        Op::Lt => "<",
        Op::Add => "+",
        Op::Sub => "-",
        Op::Mod => "mod",
        Op::If => "ite",
    }
}

/// Appends a formula.
pub(crate) fn write(expr: &Expr, text: &mut String) {
    let mut list = |head: &str, operands: &[Expr]| {
        text.push('(');
        text.push_str(head);
        for operand in operands {
            text.push(' ');
            write(operand, text);
        }
        text.push(')');
    };
    match expr {
        Expr::Op(op, operands) => match (op, operands.is_empty()) {
            (Op::And, true) => text.push_str("true"),
            (Op::Or, true) => text.push_str("false"),
            _ => list(operator(*op), operands),
        },
        Expr::Call(name, operands) => list(&symbol(name), operands),
        Expr::Int(value) if *value < 0 => write!(text, "(- {})", value.unsigned_abs()).expect("a string"),
        Expr::Int(value) => write!(text, "{value}").expect("a string"),
        Expr::Bool(value) => write!(text, "{value}").expect("a string"),
        Expr::Name(name) => text.push_str(&symbol(name)),
    }
}
