//! Texts of the rules.

use std::io;

use rpcrdma::error::Reaction;
use rpcrdma::rules::Rule;
use rpcrdma_dissector::check::{self, Deviation};

use super::text::{SEVERITY, SLUG};
use crate::format::line::{DIM, Line, NAME, PLAIN, sentence, severity_style, wrapped};
use crate::lines::WIDTH;

/// Writes what a rule says and why, as text.
///
/// # Errors
/// Any error from writing to `out`.
pub fn explain(out: &mut impl io::Write, rule: &Rule, colour: bool) -> io::Result<()> {
    let mut line = Line::new(colour, usize::MAX);
    line.push(NAME, rule.slug);
    line.push(PLAIN, "  ");
    line.push(severity_style(rule.severity), rule.severity.name());
    line.print(DIM, format_args!("  {}", rule.section));
    line.write(out)?;
    let answer = rule.answer.map(|answer| match answer {
        Reaction::Discard => "A responder discards a Send that breaks it, without an answer.".to_owned(),
        other => format!("A responder answers a Send that breaks it with {other}."),
    });
    let known = check::deviations().filter(|known| known.rule == rule.slug).map(|known| {
        let Deviation { implementation, versions, what, .. } = known;
        ("Known", Some(format!("{} {versions}: {what}.", implementation.name())))
    });
    for (name, text) in [
        ("Rule", Some(sentence(rule.summary))),
        ("Why", Some(rule.reason.to_owned())),
        ("Correct", Some(rule.correct.to_owned())),
        ("Answer", answer),
    ]
    .into_iter()
    .chain(known)
    {
        let Some(text) = text else { continue };
        for (index, text) in wrapped(&text, 88).iter().enumerate() {
            let mut line = Line::new(colour, usize::MAX);
            line.column(DIM, if index == 0 { name } else { "" }, 9);
            line.push(PLAIN, text);
            line.write(out)?;
        }
    }
    Ok(())
}

/// Writes the names of `rules` and what each says, as text.
///
/// # Errors
/// Any error from writing to `out`.
pub fn list(out: &mut impl io::Write, rules: impl Iterator<Item = &'static Rule>, colour: bool) -> io::Result<()> {
    for rule in rules {
        let indent = SLUG + 2 + SEVERITY + 2;
        for (index, text) in wrapped(rule.summary, WIDTH - indent).iter().enumerate() {
            let mut line = Line::new(colour, WIDTH);
            if index == 0 {
                line.column(NAME, rule.slug, SLUG + 2);
                line.column(severity_style(rule.severity), rule.severity.name(), SEVERITY + 2);
            } else {
                line.column(PLAIN, "", indent);
            }
            line.push(PLAIN, text);
            line.write(out)?;
        }
    }
    Ok(())
}
