//! A state of a model, and its steps one by one.
#![forbid(unsafe_code)]

use midplane_proofs::model::Model;
use midplane_proofs::state::State;

/// A step of a model, with the values of its parameters.
pub type ModelStep = (&'static str, Vec<i64>);

/// Makes a step; an error names the guard, the property or the clause that fails. `resize` sets the number of indexes of
/// each kind.
pub fn make_step<'m>(
    model: &'m Model,
    state: &State<'m>,
    made: &ModelStep,
    resize: impl Fn(&mut State<'m>),
) -> Result<State<'m>, String> {
    let (name, values) = made;
    let step = model.step_named(name).expect("a step of the model");
    let params: Vec<_> = step.params.iter().cloned().zip(values.iter().copied()).collect();
    if let Some(guard) = state.refused(step, &params) {
        return Err(format!("the guard {name}.{guard} does not hold for {values:?}"));
    }
    let mut at_step = { model.properties.iter() }.filter(|property| property.at.as_deref() == Some(*name));
    if let Some(property) = at_step.find(|property| !state.holds(&property.clause, &params)) {
        return Err(format!(
            "the property {} fails at {name} {values:?}",
            property.clause.name
        ));
    }
    let mut next = state.after(step, &params);
    resize(&mut next);
    check(model, &next).map_err(|reason| format!("{reason} after {name} {values:?}"))?;
    Ok(next)
}

/// Checks the invariant and the properties of all states.
pub fn check<'m>(model: &'m Model, state: &State<'m>) -> Result<(), String> {
    if let Some(clause) = state.violated() {
        return Err(format!("the clause {clause} does not hold"));
    }
    let mut properties = { model.properties.iter() }.filter(|property| property.at.is_none());
    match properties.find(|property| !state.holds(&property.clause, &[])) {
        None => Ok(()),
        Some(property) => Err(format!("the property {} does not hold", property.clause.name)),
    }
}
