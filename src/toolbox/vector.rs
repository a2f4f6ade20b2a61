//! The number and vector types over which the toolbox is generic.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

use glam::{DVec2, DVec3, Vec2, Vec3};

mod sealed {
    pub trait Sealed {}
}

/// `f32` or `f64`; sealed.
pub trait Scalar:
    sealed::Sealed
    + Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Distance from 1 to the next larger number.
    const EPSILON: Self;
    /// Smallest positive number of full precision.
    const MIN_POSITIVE: Self;
    /// Largest finite number.
    const MAX: Self;
    /// Positive infinity.
    const INFINITY: Self;
    /// Square root; NaN below 0.
    fn sqrt(self) -> Self;
    /// Magnitude.
    fn abs(self) -> Self;
    /// The smaller of two; the other one where one is NaN.
    fn min(self, other: Self) -> Self;
    /// The larger of two; the other one where one is NaN.
    fn max(self, other: Self) -> Self;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
}

macro_rules! scalar {
    ($t:ident) => {
        impl sealed::Sealed for $t {}
        impl Scalar for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const EPSILON: Self = $t::EPSILON;
            const MIN_POSITIVE: Self = $t::MIN_POSITIVE;
            const MAX: Self = $t::MAX;
            const INFINITY: Self = $t::INFINITY;
            #[inline]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline]
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline]
            fn min(self, other: Self) -> Self {
                self.min(other)
            }
            #[inline]
            fn max(self, other: Self) -> Self {
                self.max(other)
            }
            #[inline]
            fn is_finite(self) -> bool {
                self.is_finite()
            }
            #[inline]
            fn from_f64(value: f64) -> Self {
                value as $t
            }
            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
    };
}
scalar!(f32);
scalar!(f64);

/// [`Vec2`], [`Vec3`], [`DVec2`] or [`DVec3`]; sealed.
pub trait Vector:
    sealed::Sealed
    + Copy
    + Debug
    + Default
    + PartialEq
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Neg<Output = Self>
    + Mul<Self::Scalar, Output = Self>
    + Div<Self::Scalar, Output = Self>
{
    /// Type of the components.
    type Scalar: Scalar;
    /// 2 or 3.
    const DIMENSIONS: usize;
    /// All zero.
    const ZERO: Self;
    /// Unit vector along x: the direction taken where none is better than another.
    const X: Self;
    /// Scalar product.
    fn dot(self, other: Self) -> Self::Scalar;
    /// Component by component the smaller.
    fn min(self, other: Self) -> Self;
    /// Component by component the larger.
    fn max(self, other: Self) -> Self;
    /// All components finite.
    fn is_finite(self) -> bool;
    /// One component: 0 is x, 1 is y, 2 is z.
    ///
    /// # Panics
    /// If `index >= DIMENSIONS`.
    fn axis(self, index: usize) -> Self::Scalar;
    /// A vector from its components, asked for in order.
    fn from_axes(component: impl FnMut(usize) -> Self::Scalar) -> Self;
}

macro_rules! vector {
    ($v:ident, $s:ident, $n:literal) => {
        impl sealed::Sealed for $v {}
        impl Vector for $v {
            type Scalar = $s;
            const DIMENSIONS: usize = $n;
            const ZERO: Self = $v::ZERO;
            const X: Self = $v::X;
            #[inline]
            fn dot(self, other: Self) -> $s {
                self.dot(other)
            }
            #[inline]
            fn min(self, other: Self) -> Self {
                self.min(other)
            }
            #[inline]
            fn max(self, other: Self) -> Self {
                self.max(other)
            }
            #[inline]
            fn is_finite(self) -> bool {
                self.is_finite()
            }
            #[inline]
            fn axis(self, index: usize) -> $s {
                self[index]
            }
            #[inline]
            fn from_axes(component: impl FnMut(usize) -> $s) -> Self {
                Self::from_array(std::array::from_fn(component))
            }
        }
    };
}
vector!(Vec2, f32, 2);
vector!(Vec3, f32, 3);
vector!(DVec2, f64, 2);
vector!(DVec3, f64, 3);

/// Largest magnitude among the components.
#[inline]
fn largest<V: Vector>(v: V) -> V::Scalar {
    let mut m = v.axis(0).abs();
    for index in 1..V::DIMENSIONS {
        m = m.max(v.axis(index).abs());
    }
    m
}

/// `v` at unit length, also where its square would overflow or underflow. The zero vector, and one that is not
/// finite, give [`Vector::X`], so that coincident centres have a direction and it is always the same.
#[inline]
pub fn unit<V: Vector>(v: V) -> V {
    let square = v.dot(v);
    if square >= V::Scalar::MIN_POSITIVE / V::Scalar::EPSILON && square <= V::Scalar::MAX {
        v / square.sqrt()
    } else {
        unit_scaled(v)
    }
}

#[cold]
fn unit_scaled<V: Vector>(v: V) -> V {
    let m = largest(v);
    if !v.is_finite() || m == V::Scalar::ZERO {
        return V::X;
    }
    let u = V::from_axes(|index| v.axis(index) / m);
    u / u.dot(u).sqrt()
}
