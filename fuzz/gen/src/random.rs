//! The list of named cases, and random ones.

use crate::case::{Base, Case};
use crate::choices::Choices;
use crate::defects::{self, Defect};
use crate::draft::{Format, Role};
use crate::shapes::{self, Shape, Used};

/// All cases with a name: every valid shape, every defect of each, and the messages without chunk lists.
#[must_use]
pub fn named(format: Format, role: Role) -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, shape) in shapes::named() {
        // The same memory for every shape, so that a new shape changes no other.
        let choices = &mut Choices::of_seed(0);
        let bases = match role {
            Role::Call => vec![shape.call(name, format, choices)],
            Role::Reply if !shape.is_of_reply() => Vec::new(),
            Role::Reply => Used::ALL.map(|used| shape.reply(name, format, used, &mut choices.clone())).into(),
        };
        for base in bases {
            cases.push(base.valid());
            cases.extend(all_cases(&base));
        }
    }
    defects::alone(format, role, &mut cases);
    cases
}

/// Every case of a valid message, without the message itself.
#[must_use]
pub fn all_cases(base: &Base) -> Vec<Case> {
    let mut cases = Vec::new();
    for defect in defects::ALL {
        defect(base, &mut cases);
    }
    cases
}

/// A random message: one of four is made without a change, the others with one, which most often is a defect.
#[must_use]
pub fn random(choices: &mut Choices<'_>, format: Format, role: Role) -> Case {
    let shape = Shape::chosen(choices);
    let used = *choices.one_of(&Used::ALL).unwrap_or(&Used::Nothing);
    let base = match role {
        Role::Call => shape.call("random", format, choices),
        Role::Reply => shape.reply("random", format, used, choices),
    };
    random_of(choices, &base)
}

/// A random case of a valid message: one of four is the message unchanged, the others have one change, which most often
/// is a defect.
#[must_use]
pub fn random_of(choices: &mut Choices<'_>, base: &Base) -> Case {
    if choices.below(4) == 0 {
        return base.valid();
    }
    // A defect that does not apply makes no case: then it is another's turn.
    let first = choices.below(defects::ALL.len() as u32) as usize;
    let turns = defects::ALL.iter().cycle().skip(first).take(defects::ALL.len());
    let made = turns.map(|defect| by(*defect, base)).find(|cases| !cases.is_empty()).unwrap_or_default();
    choices.one_of(&made).cloned().unwrap_or_else(|| base.valid())
}

fn by(defect: Defect, base: &Base) -> Vec<Case> {
    let mut cases = Vec::new();
    defect(base, &mut cases);
    cases
}

/// A message of any format and role.
#[cfg(feature = "arbitrary")]
impl<'a> arbitrary::Arbitrary<'a> for Case {
    fn arbitrary(octets: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
        let format = *octets.choose(&Format::ALL)?;
        let role = *octets.choose(&Role::ALL)?;
        let most = octets.len().min(CHOICES);
        Ok(random(&mut Choices::of_octets(octets.bytes(most)?), format, role))
    }
}

/// Octets that a random message takes at most, as choices: some eighty, of eight octets each.
#[cfg(feature = "arbitrary")]
const CHOICES: usize = 1024;
