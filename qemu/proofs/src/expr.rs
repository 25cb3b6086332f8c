//! Formulas: their syntax tree and their parser.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fmt;

/// Operators, in SMT-LIB also, except [`Op::Ne`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Conjunction of all operands.
    And,
    /// Disjunction of all operands.
    Or,
    /// Negation.
    Not,
    /// Implication.
    Implies,
    /// Equality of two integers or two booleans.
    Eq,
    /// Inequality.
    Ne,
    /// At most.
    Le,
    /// Less than.
    Lt,
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Remainder, never negative.
    Mod,
    /// `if` condition `then` value `else` value.
    If,
}

/// A formula or an integer term.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expr {
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A state variable, or a variable of a clause or a step.
    Name(String),
    /// A state function at an index.
    Call(String, Vec<Expr>),
    /// An operator with its operands.
    Op(Op, Vec<Expr>),
}

/// A mistake in a model's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyntaxError(pub String);

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SyntaxError {}

/// A definition: its parameters and its body.
pub type Definition = (Vec<String>, Expr);
/// Definitions and constants by name, which the parser replaces by their bodies.
pub type Definitions = BTreeMap<String, Definition>;

impl Expr {
    /// Returns the conjunction.
    pub fn and(all: Vec<Expr>) -> Expr {
        Expr::Op(Op::And, all)
    }

    /// Returns the negation.
    pub fn negated(self) -> Expr {
        Expr::Op(Op::Not, vec![self])
    }

    /// Returns the formula with each name and call replaced by the result of `change`, if it returns one. The arguments
    /// of a call are replaced first.
    pub fn map(&self, change: &impl Fn(&Expr) -> Option<Expr>) -> Expr {
        let all = |operands: &[Expr]| operands.iter().map(|operand| operand.map(change)).collect();
        match self {
            Expr::Int(_) | Expr::Bool(_) => self.clone(),
            Expr::Name(_) => change(self).unwrap_or_else(|| self.clone()),
            Expr::Call(name, operands) => {
                let call = Expr::Call(name.clone(), all(operands));
                change(&call).unwrap_or(call)
            }
            Expr::Op(op, operands) => Expr::Op(*op, all(operands)),
        }
    }

    /// Returns the formula with names replaced.
    pub fn with(&self, values: &[(String, Expr)]) -> Expr {
        self.map(&|part| match part {
            Expr::Name(name) => values
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.clone()),
            _ => None,
        })
    }

    /// Calls `visit` for this formula and all its parts.
    pub fn visit(&self, visit: &mut impl FnMut(&Expr)) {
        visit(self);
        if let Expr::Call(_, operands) | Expr::Op(_, operands) = self {
            operands.iter().for_each(|operand| operand.visit(visit));
        }
    }

    /// Parses a formula; replaces definitions by their bodies.
    pub fn parse(text: &str, definitions: &Definitions) -> Result<Expr, SyntaxError> {
        let mut parser = Parser {
            tokens: tokens(text)?,
            at: 0,
            definitions,
        };
        let expr = parser.implication()?;
        match parser.tokens.get(parser.at) {
            None => Ok(expr),
            Some(token) => Err(SyntaxError(format!("`{token}` is not expected in `{text}`"))),
        }
    }
}

/// Operators of several characters come before their prefixes.
const SYMBOLS: [&str; 17] = [
    "<=>", "=>", "!=", "<=", ">=", ":=", "|", "&", "!", "=", "<", ">", "+", "-", "(", ")", ",",
];

/// Splits a text into names, numbers and operators.
pub fn tokens(text: &str) -> Result<Vec<String>, SyntaxError> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            let symbol = SYMBOLS.iter().find(|&&symbol| rest.starts_with(symbol));
            let symbol = symbol.ok_or_else(|| SyntaxError(format!("`{first}` is not part of a formula: `{text}`")))?;
            symbol.len()
        };
        tokens.push(rest[..length].to_string());
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

struct Parser<'a> {
    tokens: Vec<String>,
    at: usize,
    definitions: &'a Definitions,
}

impl Parser<'_> {
    fn takes(&mut self, token: &str) -> bool {
        let is_next = self.tokens.get(self.at).is_some_and(|next| next == token);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, token: &str) -> Result<(), SyntaxError> {
        if self.takes(token) {
            return Ok(());
        }
        Err(SyntaxError(format!(
            "`{token}` is missing in `{}`",
            self.tokens.join(" ")
        )))
    }

    fn implication(&mut self) -> Result<Expr, SyntaxError> {
        let left = self.chain("|", Op::Or, Self::conjunction)?;
        if self.takes("<=>") {
            let right = self.chain("|", Op::Or, Self::conjunction)?;
            return Ok(Expr::Op(Op::Eq, vec![left, right]));
        }
        if self.takes("=>") {
            let right = self.implication()?;
            return Ok(Expr::Op(Op::Implies, vec![left, right]));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Expr, SyntaxError> {
        self.chain("&", Op::And, Self::negation)
    }

    fn chain(
        &mut self,
        symbol: &str,
        op: Op,
        part: fn(&mut Self) -> Result<Expr, SyntaxError>,
    ) -> Result<Expr, SyntaxError> {
        let mut all = vec![part(self)?];
        while self.takes(symbol) {
            all.push(part(self)?);
        }
        Ok(if all.len() == 1 {
            all.remove(0)
        } else {
            Expr::Op(op, all)
        })
    }

    fn negation(&mut self) -> Result<Expr, SyntaxError> {
        if self.takes("!") {
            return Ok(self.negation()?.negated());
        }
        self.comparison()
    }

    /// Parses comparisons, also a chain such as `a <= b < c`.
    fn comparison(&mut self) -> Result<Expr, SyntaxError> {
        let mut left = self.sum()?;
        let mut all = Vec::new();
        loop {
            let next = self.tokens.get(self.at).map(String::as_str);
            let (op, swaps) = match next {
                Some("=") => (Op::Eq, false),
                Some("!=") => (Op::Ne, false),
                Some("<=") => (Op::Le, false),
                Some("<") => (Op::Lt, false),
                Some(">=") => (Op::Le, true),
                Some(">") => (Op::Lt, true),
                _ => break,
            };
            self.at += 1;
            let right = self.sum()?;
            let operands = if swaps {
                vec![right.clone(), left]
            } else {
                vec![left, right.clone()]
            };
            all.push(Expr::Op(op, operands));
            left = right;
        }
        Ok(match all.len() {
            0 => left,
            1 => all.remove(0),
            _ => Expr::and(all),
        })
    }

    fn sum(&mut self) -> Result<Expr, SyntaxError> {
        let mut left = self.atom()?;
        loop {
            let op = if self.takes("+") {
                Op::Add
            } else if self.takes("-") {
                Op::Sub
            } else if self.takes("mod") {
                Op::Mod
            } else {
                return Ok(left);
            };
            left = Expr::Op(op, vec![left, self.atom()?]);
        }
    }

    fn atom(&mut self) -> Result<Expr, SyntaxError> {
        if self.takes("(") {
            let inner = self.implication()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.takes("if") {
            let condition = self.implication()?;
            self.expect("then")?;
            let value = self.implication()?;
            self.expect("else")?;
            return Ok(Expr::Op(Op::If, vec![condition, value, self.implication()?]));
        }
        let end = || SyntaxError("a formula ends too early".to_string());
        let token = self.tokens.get(self.at).ok_or_else(end)?.clone();
        self.at += 1;
        if token == "-" {
            let Expr::Int(value) = self.atom()? else {
                return Err(SyntaxError("`-` requires a number".to_string()));
            };
            return Ok(Expr::Int(-value));
        }
        if let Ok(value) = token.parse() {
            return Ok(Expr::Int(value));
        }
        match token.as_str() {
            "true" => return Ok(Expr::Bool(true)),
            "false" => return Ok(Expr::Bool(false)),
            word if !word.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                return Err(SyntaxError(format!(
                    "`{word}` is no name in `{}`",
                    self.tokens.join(" ")
                )));
            }
            _ => {}
        }
        let operands = self.operands()?;
        self.named(token, operands)
    }

    fn operands(&mut self) -> Result<Vec<Expr>, SyntaxError> {
        let mut operands = Vec::new();
        if self.takes("(") {
            loop {
                operands.push(self.implication()?);
                if !self.takes(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        Ok(operands)
    }

    fn named(&self, name: String, operands: Vec<Expr>) -> Result<Expr, SyntaxError> {
        let Some((params, body)) = self.definitions.get(&name) else {
            return Ok(match operands.is_empty() {
                true => Expr::Name(name),
                false => Expr::Call(name, operands),
            });
        };
        if params.len() != operands.len() {
            return Err(SyntaxError(format!("`{name}` has {} parameters", params.len())));
        }
        let values: Vec<_> = params.iter().cloned().zip(operands).collect();
        Ok(body.with(&values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_bind_as_in_logic() {
        let parse = |text| Expr::parse(text, &Definitions::new());
        assert_eq!(
            parse("a | b & !c => d = 1 + 2 - x(m)"),
            parse("(a | (b & (!c))) => (d = ((1 + 2) - x(m)))")
        );
        assert_eq!(parse("0 <= a < b"), parse("0 <= a & a < b"));
        assert_eq!(parse("a >= b"), parse("b <= a"));
        for wrong in ["a b", "a &", "(a", "f(", "a ? b", ")", "-a", "if a then b"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn definitions_are_replaced() {
        let body = Expr::parse("st(m) = 1", &Definitions::new()).expect("a formula");
        let definitions = Definitions::from([("sent".to_string(), (vec!["m".to_string()], body))]);
        let expected = Expr::parse("st(k + 1) = 1 & b", &Definitions::new());
        assert_eq!(Expr::parse("sent(k + 1) & b", &definitions), expected);
        assert!(Expr::parse("sent & b", &definitions).is_err());
    }
}
