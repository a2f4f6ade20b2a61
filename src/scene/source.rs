//! Sources: groups of spheres that arrive during a run.

use glam::DVec3;

use crate::{
    MaterialIndex, Materials, Sink,
    scene::{Fill, Motion, Scene, Shape},
    system::validation_error::ValidationError,
};

/// A source of spheres in a box: see [`crate::Source`]. The group sets their material, and their velocity by
/// [`Motion::Velocity`] or [`Motion::Kept`] (at rest).
///
/// ```
/// use carom::scene::{Fill, Scene, Source};
///
/// let rain = Source::new([0.0, 0.0, 8.0], [10.0, 10.0, 10.0], 500.0).diameter(0.5).count(2000);
/// let scene = Scene::new(0.01)
///     .bounds([0.0; 3], [10.0; 3])
///     .walled()
///     .gravity([0.0, 0.0, -9.81])
///     .fill(Fill::from(rain).velocity([0.0, 0.0, -3.0]));
/// let system = scene.build()?;
/// assert_eq!((system.spheres.len(), system.sources[0].count), (0, Some(2000)));
/// # Ok::<(), carom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Lower and upper corner of the box (length).
    pub region: (DVec3, DVec3),
    /// Spheres per time, > 0.
    pub rate: f64,
    /// Diameters (length), each with its share of the number of spheres; the shares add up to 1.
    pub diameters: Vec<(f64, f64)>,
    /// Most spheres in total; `None` for no limit.
    pub count: Option<u64>,
    /// Time at which the source begins, and time after which no further sphere becomes due.
    pub span: [f64; 2],
    /// Standard deviation of each component of the velocity (length/time), >= 0.
    pub spread: f64,
    /// Name in messages. Default: the place among the groups, for example `spheres[0]`.
    pub name: Option<String>,
}

impl Source {
    /// A source of spheres of diameter 1 between two corners (length), at a rate (spheres/time), from time 0 without end.
    pub fn new(min: impl Into<DVec3>, max: impl Into<DVec3>, rate: f64) -> Self {
        Self {
            region: (min.into(), max.into()),
            rate,
            diameters: vec![(1.0, 1.0)],
            count: None,
            span: [0.0, f64::INFINITY],
            spread: 0.0,
            name: None,
        }
    }

    /// Sets one diameter (length) for all.
    pub fn diameter(self, diameter: f64) -> Self {
        self.diameters([(diameter, 1.0)])
    }

    /// Sets the diameters (length), each with its share of the number.
    pub fn diameters(mut self, diameters: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.diameters = diameters.into_iter().collect();
        self
    }

    /// Sets the largest total number of spheres.
    pub fn count(mut self, count: u64) -> Self {
        self.count = Some(count);
        self
    }

    /// Sets the times between which spheres become due.
    pub fn during(mut self, from: f64, until: f64) -> Self {
        self.span = [from, until];
        self
    }

    /// Sets the standard deviation of each velocity component (length/time).
    pub fn spread(mut self, spread: f64) -> Self {
        self.spread = spread;
        self
    }

    /// Converts to a source with a numbered material; `index` is its place among the groups.
    pub(super) fn realise(&self, fill: &Fill, material: MaterialIndex, index: usize) -> crate::Source {
        let velocity = match fill.motion {
            Motion::Velocity(velocity) => velocity,
            _ => DVec3::ZERO,
        };
        crate::Source {
            min: self.region.0,
            max: self.region.1,
            rate: self.rate,
            from: self.span[0],
            until: self.span[1],
            count: self.count,
            diameters: self.diameters.clone(),
            velocity,
            spread: self.spread,
            material,
            name: self.name.clone().unwrap_or_else(|| format!("spheres[{index}]")),
        }
    }
}

impl From<Source> for Fill {
    fn from(source: Source) -> Self {
        Shape::Source(source).into()
    }
}

impl Fill {
    /// Rejects an invalid group with a source; `path` is that of the group.
    pub(super) fn inspect_poured(&self, path: &str) -> Result<(), ValidationError> {
        let motion = match self.motion {
            Motion::Kept | Motion::Velocity(_) => None,
            Motion::Temperature(_) => Some("temperature"),
            Motion::Speed(_) => Some("speed_uniform"),
        };
        if let Some(motion) = motion {
            return Err(ValidationError::field(
                format!("{path}.{motion}"),
                format!("{path} is a source and has {motion}"),
                "a source has velocity, and source.spread about it",
            ));
        }
        if self.fixed {
            return Err(ValidationError::field(
                format!("{path}.fixed"),
                format!("{path} is a source of fixed spheres"),
                "fixed spheres exist from the start: use random, lattice, at or file",
            ));
        }
        Ok(())
    }
}

impl Scene {
    /// Sets the drag of a medium at rest (1/time): see [`System::drag`](crate::System::drag).
    pub fn drag(mut self, drag: f64) -> Self {
        self.world.drag = drag;
        self
    }

    /// Adds a sink.
    pub fn sink(mut self, sink: Sink) -> Self {
        self.sinks.push(sink);
        self
    }

    /// The sources among the groups, each with the path of its group.
    pub(super) fn sources(&self, materials: &Materials) -> Vec<(String, crate::Source)> {
        let sources = self.fills.iter().enumerate().filter_map(|(index, fill)| {
            let Shape::Source(source) = &fill.shape else { return None };
            let material = materials.find(&fill.material).unwrap_or(0);
            Some((format!("spheres[{index}].source"), source.realise(fill, material, index)))
        });
        sources.collect()
    }
}
