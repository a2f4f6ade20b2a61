//! Stage `advance` against its twin.

use super::{
    Case, Slip, agrees, before, notices,
    starts::{Start, start},
};
use crate::step::schedule::Pass;

fn case(start: &Start) -> Case {
    Case::with_leftovers(start, before(start, Pass::Advance), Pass::Advance, |input, _| {
        for node in &mut input.nodes {
            (node.loss, node.virial, node.relax_work) = (1.0, 2.0, 3.0);
        }
    })
}

#[test]
fn advance_agrees_with_its_twin() {
    agrees("advance", case);
}

#[test]
fn a_slip_in_advance_is_noticed() {
    let input: &[Slip] = &[
        ("a velocity", |m, _, _| m.bodies[1][64].velocity.x += 1e-5),
        ("a clock", |m, _, _| m.nodes[0].clock += 1e-3),
        ("an inverse mass", |m, _, _| m.bodies[1][7].inverse_mass = 0.0),
        ("the time of a contact", |m, _, _| {
            m.tags[1].iter_mut().find(|tag| tag.last_contact > -1.0).unwrap().last_contact -= 1e-6;
        }),
    ];
    let output: &[Slip] = &[
        ("an offset", |m, _, _| m.bodies[1][64].offset.z += 1e-5),
        ("a motion margin", |m, _, _| m.nodes[12].motion_margin += 1e-5),
    ];
    notices(&start("gas", 65), case, input, output);
    // Spheres that a floor supports.
    let support: &[Slip] = &[("a support", |m, _, _| {
        m.nodes.iter_mut().find(|node| node.support == 1).unwrap().support = 0;
    })];
    notices(&start("floor", 65), case, support, &[]);
}
