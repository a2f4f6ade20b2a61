//! Checks of the state of an engine in a checkpoint. A file whose checksum is right may still have been made by hand.

use glam::{DVec3, I64Vec3, IVec4};

use crate::{
    System,
    state::grid::FARTHEST,
    step::checkpoint::{
        DomainState, EngineState, ExactHead, ExactState, Predictions, StagedHead, StagedState,
    },
};

/// A fault of a state from which no engine can go on.
type Fault = Option<&'static str>;

fn first_of(faults: impl IntoIterator<Item = (bool, &'static str)>) -> Fault {
    faults.into_iter().find(|(is_right, _)| !is_right).map(|(_, fault)| fault)
}

/// The first fault of a state; `None` for one that an engine can go on from.
pub(super) fn fault(state: &EngineState, system: &System) -> Fault {
    match state {
        EngineState::Staged(state) => fault_of_stages(state),
        EngineState::Exact(state) => fault_of_events(state, system),
    }
}

/// Most buckets for each sphere, of any grid. A grid made for more spheres, since removed, has more for each.
const MOST_BUCKETS: usize = 1 << 10;

fn fault_of_stages(state: &StagedState) -> Fault {
    let StagedHead { domain, driver, executor } = &state.head;
    let DomainState { units, grid, middle, reference, contact_time, .. } = domain;
    let (count, spheres) = (grid.count, &state.spheres);
    let cells = count.as_dvec3().element_product();
    let parts = grid.levels.parts as usize;
    let rows = grid.buckets.checked_div(parts).unwrap_or(0);
    let sizes = [units.length, units.time, units.mass, grid.made_for, f64::from(grid.margin_limit)];
    let is_inside = |cell: &IVec4| {
        (0..3).all(|axis| match count[axis] {
            0 => cell[axis].abs() <= FARTHEST,
            count => (0..count).contains(&cell[axis]),
        })
    };
    first_of([
        (sizes.iter().all(|size| *size > 0.0 && size.is_finite()), "the units or the cells have no size"),
        (grid.edge.is_finite() && grid.edge.min_element() > 0.0, "the cells have no size"),
        ([grid.origin, *middle, *reference].iter().all(|v| v.is_finite()), "the origin is not finite"),
        (contact_time.is_finite(), "the contact time is not finite"),
        ((0..3).all(|axis| count[axis] >= i32::from(grid.periodic[axis])), "a period has no cells"),
        (grid.levels.is_sound(), "the levels of the cells do not agree"),
        (rows * parts == grid.buckets, "the buckets are no whole rows"),
        (!grid.direct || rows as f64 == cells, "the buckets are not the cells"),
        (grid.direct || rows.is_power_of_two(), "the buckets are no power of two"),
        (grid.buckets / MOST_BUCKETS <= spheres.len() + 4096, "the buckets are too many"),
        (spheres.cell.iter().all(is_inside), "a sphere is outside of all cells"),
        (spheres.place.iter().all(|place| place.is_finite()), "a position is not finite"),
        (
            driver.history.front().is_some_and(|(step, _)| *step <= driver.step as i64 - 2),
            "the measurements of the last steps are missing",
        ),
        (executor.gpu.is_none_or(|own| own.room <= 1 << 27), "the device has no such room"),
    ])
}

fn fault_of_events(state: &ExactState, system: &System) -> Fault {
    let ExactHead { edge, counts, sizes, base, inner_base, inner_sizes, reference, contact_time, .. } =
        state.head;
    let (axes, count) = (system.dimensions.count(), state.number.len());
    let planes = system.all_walls().len() as u32;
    let has_inner = |axis: usize| {
        let (margin, most) = if axis < axes { (1, (sizes[axis] - 2).max(0)) } else { (0, 1) };
        base[axis].checked_add(margin) == Some(inner_base[axis]) && inner_sizes[axis] <= most as u64
    };
    let is_inside = |cell: &I64Vec3| {
        (0..3).all(|axis| match counts[axis] {
            0 => cell[axis].unsigned_abs() < 1 << 50,
            cells => (0..cells).contains(&cell[axis]),
        })
    };
    let is_event = |p: &Predictions| {
        let times = [p.alone_time, p.horizon, p.last_contact].into_iter().chain(p.meeting_times);
        let is_alone = match p.alone {
            0 => true,
            crossing @ 1..7 => ((crossing - 1) / 2) < axes as u32,
            wall => wall - 7 < planes,
        };
        let is_partner = |&partner: &u32| partner == u32::MAX || (partner as usize) < count;
        is_alone && p.partners.iter().all(is_partner) && times.into_iter().all(|time| !time.is_nan())
    };
    let buckets = sizes.iter().map(|&size| size as f64).product::<f64>();
    let vectors = state.position.iter().chain(&state.velocity);
    first_of([
        (edge.is_finite() && edge.min_element() > 0.0, "the cells have no size"),
        (reference.is_finite() && contact_time.is_finite(), "the reference is not finite"),
        (sizes.iter().all(|size| *size >= 1), "the cells have no table"),
        (counts.iter().all(|count| *count >= 0), "a period has no cells"),
        (buckets <= (8 * count).max(4096) as f64, "the table of the cells is too large"),
        ((0..3).all(has_inner), "the inner cells are outside of the table"),
        (state.cell.iter().all(is_inside), "a sphere is outside of all cells"),
        (vectors.copied().all(DVec3::is_finite), "a position or a velocity is not finite"),
        (state.clock.iter().all(|clock| clock.is_finite()), "a clock is not finite"),
        (state.predictions.iter().all(is_event), "a predicted event cannot happen"),
    ])
}
