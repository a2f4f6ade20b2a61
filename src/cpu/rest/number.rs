//! Numbers and vectors in eight lanes. Every operation acts on all lanes, and each lane gives the same bits
//! as the operation on a single float. Multiplications and additions are therefore never fused.

use std::ops::{Add, Div, Mul, Neg, Sub};

use glam::{BVec4A, Mat4, Vec4};

/// Number of lanes.
pub const LANES: usize = 8;

/// Consecutive floats in memory.
pub type Row = [f32; 8];
pub type HalfRow = [f32; 4];

/// A number in each lane.
pub trait Number:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// A truth value in each lane.
    type Mask: Copy;

    fn splat(value: f32) -> Self;
    fn from_array(values: [f32; LANES]) -> Self;
    fn to_array(self) -> [f32; LANES];
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;

    /// The larger of two; the first if the second is NaN.
    fn or_larger(self, other: Self) -> Self;

    fn is_above(self, other: Self) -> Self::Mask;
    fn is_other_than(self, other: Self) -> Self::Mask;
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    fn either(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// One bit for each lane.
    fn bits(mask: Self::Mask) -> u32;
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// From a row of every lane to one number for each place in the rows.
    ///
    /// # Safety
    /// The rows are valid, and no other thread writes them at the same time.
    unsafe fn load(rows: [*const Row; LANES]) -> [Self; 8];

    /// The opposite of [`load`](Self::load), for half a row.
    ///
    /// # Safety
    /// The rows are valid, and no other thread reads or writes them at the same time.
    unsafe fn store_half(numbers: [Self; 4], rows: [*mut HalfRow; LANES]);

    /// The opposite of [`load`](Self::load).
    ///
    /// # Safety
    /// As for [`store_half`](Self::store_half).
    #[inline(always)]
    unsafe fn store(numbers: [Self; 8], rows: [*mut Row; LANES]) {
        let [a, b, c, d, e, f, g, h] = numbers;
        // SAFETY: guaranteed by the caller; each half lies in its row.
        unsafe {
            Self::store_half([a, b, c, d], rows.map(<*mut Row>::cast));
            Self::store_half([e, f, g, h], rows.map(|row| row.cast::<HalfRow>().add(1)));
        }
    }
}

/// Eight lanes in two vectors of four, on any processor.
#[derive(Clone, Copy)]
pub struct Halves([Vec4; 2]);

impl Halves {
    #[inline(always)]
    fn with(self, other: Self, each: impl Fn(Vec4, Vec4) -> Vec4) -> Self {
        Self([each(self.0[0], other.0[0]), each(self.0[1], other.0[1])])
    }
}

#[inline(always)]
fn transposed([a, b, c, d]: [Vec4; 4]) -> [Vec4; 4] {
    let turned = Mat4::from_cols(a, b, c, d).transpose();
    [turned.x_axis, turned.y_axis, turned.z_axis, turned.w_axis]
}

impl Number for Halves {
    type Mask = [BVec4A; 2];

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([Vec4::splat(value); 2])
    }

    #[inline(always)]
    fn from_array([a, b, c, d, e, f, g, h]: [f32; LANES]) -> Self {
        Self([Vec4::new(a, b, c, d), Vec4::new(e, f, g, h)])
    }

    #[inline(always)]
    fn to_array(self) -> [f32; LANES] {
        let [[a, b, c, d], [e, f, g, h]] = self.0.map(|half| half.to_array());
        [a, b, c, d, e, f, g, h]
    }

    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.map(Vec4::abs))
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.map(Vec4::sqrt))
    }

    #[inline(always)]
    fn or_larger(self, other: Self) -> Self {
        Self::select(other.is_above(self), other, self)
    }

    #[inline(always)]
    fn is_above(self, other: Self) -> Self::Mask {
        [self.0[0].cmpgt(other.0[0]), self.0[1].cmpgt(other.0[1])]
    }

    #[inline(always)]
    fn is_other_than(self, other: Self) -> Self::Mask {
        [self.0[0].cmpne(other.0[0]), self.0[1].cmpne(other.0[1])]
    }

    #[inline(always)]
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        [a[0] & b[0], a[1] & b[1]]
    }

    #[inline(always)]
    fn either(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        [a[0] | b[0], a[1] | b[1]]
    }

    #[inline(always)]
    fn bits(mask: Self::Mask) -> u32 {
        mask[0].bitmask() | mask[1].bitmask() << 4
    }

    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Self([Vec4::select(mask[0], yes.0[0], no.0[0]), Vec4::select(mask[1], yes.0[1], no.0[1])])
    }

    #[inline(always)]
    unsafe fn load(rows: [*const Row; LANES]) -> [Self; 8] {
        // SAFETY: guaranteed by the caller.
        let half = |lane: usize, half: usize| {
            Vec4::from_array(unsafe { rows[lane].cast::<HalfRow>().add(half).read() })
        };
        let of = |first: usize, side: usize| {
            transposed([
                half(first, side),
                half(first + 1, side),
                half(first + 2, side),
                half(first + 3, side),
            ])
        };
        let ([a, b, c, d], [e, f, g, h]) = (of(0, 0), of(4, 0));
        let ([i, j, k, l], [m, n, o, p]) = (of(0, 1), of(4, 1));
        [[a, e], [b, f], [c, g], [d, h], [i, m], [j, n], [k, o], [l, p]].map(Self)
    }

    #[inline(always)]
    unsafe fn store_half(numbers: [Self; 4], rows: [*mut HalfRow; LANES]) {
        let low = transposed(numbers.map(|number| number.0[0]));
        let high = transposed(numbers.map(|number| number.0[1]));
        for lane in 0..4 {
            // SAFETY: guaranteed by the caller.
            unsafe {
                rows[lane].write(low[lane].to_array());
                rows[lane + 4].write(high[lane].to_array());
            }
        }
    }
}

// Implements an operator by an expression of two numbers.
macro_rules! operator {
    ($number:ty, $operator:ident, $name:ident, |$a:ident, $b:ident| $each:expr) => {
        impl $operator for $number {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $each
            }
        }
    };
}

operator!(Halves, Add, add, |a, b| a.with(b, Vec4::add));
operator!(Halves, Sub, sub, |a, b| a.with(b, Vec4::sub));
operator!(Halves, Mul, mul, |a, b| a.with(b, Vec4::mul));
operator!(Halves, Div, div, |a, b| a.with(b, Vec4::div));

impl Neg for Halves {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self([-self.0[0], -self.0[1]])
    }
}

/// A vector in each lane.
#[derive(Clone, Copy)]
pub struct Vector<N> {
    pub x: N,
    pub y: N,
    pub z: N,
}

impl<N: Number> Vector<N> {
    #[inline(always)]
    pub fn dot(self, other: Self) -> N {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    #[inline(always)]
    pub fn cross(self, other: Self) -> Self {
        Self {
            x: self.y * other.z - self.z * other.y,
            y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x,
        }
    }

    /// Shortened to `most` where it is longer.
    #[inline(always)]
    pub fn clamped(self, most: N) -> Self {
        let square = self.dot(self);
        let is_longer = square.is_above(most * most);
        if N::bits(is_longer) == 0 {
            return self;
        }
        Self::select(is_longer, self * (most / square.sqrt()), self)
    }

    #[inline(always)]
    pub fn select(mask: N::Mask, yes: Self, no: Self) -> Self {
        Self {
            x: N::select(mask, yes.x, no.x),
            y: N::select(mask, yes.y, no.y),
            z: N::select(mask, yes.z, no.z),
        }
    }

    /// The largest component by magnitude.
    #[inline(always)]
    pub fn largest(self) -> N {
        self.x.abs().or_larger(self.y.abs()).or_larger(self.z.abs())
    }
}

impl<N: Number> Add for Vector<N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self { x: self.x + other.x, y: self.y + other.y, z: self.z + other.z }
    }
}

impl<N: Number> Sub for Vector<N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self { x: self.x - other.x, y: self.y - other.y, z: self.z - other.z }
    }
}

impl<N: Number> Mul<N> for Vector<N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, factor: N) -> Self {
        Self { x: self.x * factor, y: self.y * factor, z: self.z * factor }
    }
}

#[cfg(target_arch = "x86_64")]
pub mod avx {
    //! Eight lanes in one vector, on x86 processors with AVX2. No function of this module may run on a
    //! processor without AVX2. Each function is slow unless it is inlined into a function with the target
    //! feature `avx2`. Therefore no closure calls a function of this module.

    use std::{
        arch::x86_64::*,
        ops::{Add, Div, Mul, Neg, Sub},
    };

    use super::{HalfRow, LANES, Number, Row};

    /// A number in each lane.
    #[derive(Clone, Copy)]
    pub struct Wide(__m256);

    // The four by four numbers in the lower and the upper lanes, transposed.
    #[inline(always)]
    fn transposed([a, b, c, d]: [__m256; 4]) -> [__m256; 4] {
        // SAFETY: the processor has AVX2.
        unsafe {
            let (e, f) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
            let (g, h) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
            [
                _mm256_shuffle_ps::<0x44>(e, g),
                _mm256_shuffle_ps::<0xee>(e, g),
                _mm256_shuffle_ps::<0x44>(f, h),
                _mm256_shuffle_ps::<0xee>(f, h),
            ]
        }
    }

    #[inline(always)]
    unsafe fn load_half(rows: [*const HalfRow; LANES]) -> [__m256; 4] {
        let [a, b, c, d, e, f, g, h] = rows.map(<*const HalfRow>::cast);
        // SAFETY: guaranteed by the caller, and the processor has AVX2.
        unsafe {
            transposed([
                _mm256_loadu2_m128(e, a),
                _mm256_loadu2_m128(f, b),
                _mm256_loadu2_m128(g, c),
                _mm256_loadu2_m128(h, d),
            ])
        }
    }

    impl Number for Wide {
        type Mask = __m256;

        #[inline(always)]
        fn splat(value: f32) -> Self {
            // SAFETY: the processor has AVX2, also below.
            Self(unsafe { _mm256_set1_ps(value) })
        }

        #[inline(always)]
        fn from_array(values: [f32; LANES]) -> Self {
            // SAFETY: as above; the array has eight floats.
            Self(unsafe { _mm256_loadu_ps(values.as_ptr()) })
        }

        #[inline(always)]
        fn to_array(self) -> [f32; LANES] {
            let mut values = [0.0; LANES];
            // SAFETY: as above.
            unsafe { _mm256_storeu_ps(values.as_mut_ptr(), self.0) };
            values
        }

        #[inline(always)]
        fn abs(self) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0) })
        }

        #[inline(always)]
        fn sqrt(self) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm256_sqrt_ps(self.0) })
        }

        #[inline(always)]
        fn or_larger(self, other: Self) -> Self {
            // The second operand is returned unless the first is larger.
            // SAFETY: as above.
            Self(unsafe { _mm256_max_ps(other.0, self.0) })
        }

        #[inline(always)]
        fn is_above(self, other: Self) -> Self::Mask {
            // SAFETY: as above.
            unsafe { _mm256_cmp_ps::<_CMP_GT_OQ>(self.0, other.0) }
        }

        #[inline(always)]
        fn is_other_than(self, other: Self) -> Self::Mask {
            // SAFETY: as above.
            unsafe { _mm256_cmp_ps::<_CMP_NEQ_UQ>(self.0, other.0) }
        }

        #[inline(always)]
        fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
            // SAFETY: as above.
            unsafe { _mm256_and_ps(a, b) }
        }

        #[inline(always)]
        fn either(a: Self::Mask, b: Self::Mask) -> Self::Mask {
            // SAFETY: as above.
            unsafe { _mm256_or_ps(a, b) }
        }

        #[inline(always)]
        fn bits(mask: Self::Mask) -> u32 {
            // SAFETY: as above.
            unsafe { _mm256_movemask_ps(mask) as u32 }
        }

        #[inline(always)]
        fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm256_blendv_ps(no.0, yes.0, mask) })
        }

        #[inline(always)]
        unsafe fn load(rows: [*const Row; LANES]) -> [Self; 8] {
            let low = rows.map(<*const Row>::cast::<HalfRow>);
            let high = low.map(|row| row.wrapping_add(1));
            // SAFETY: guaranteed by the caller; each half lies in its row.
            let ([a, b, c, d], [e, f, g, h]) = unsafe { (load_half(low), load_half(high)) };
            [Self(a), Self(b), Self(c), Self(d), Self(e), Self(f), Self(g), Self(h)]
        }

        #[inline(always)]
        unsafe fn store_half([a, b, c, d]: [Self; 4], rows: [*mut HalfRow; LANES]) {
            let [a, b, c, d] = transposed([a.0, b.0, c.0, d.0]);
            // SAFETY: guaranteed by the caller, and the processor has AVX2.
            unsafe {
                _mm256_storeu2_m128(rows[4].cast(), rows[0].cast(), a);
                _mm256_storeu2_m128(rows[5].cast(), rows[1].cast(), b);
                _mm256_storeu2_m128(rows[6].cast(), rows[2].cast(), c);
                _mm256_storeu2_m128(rows[7].cast(), rows[3].cast(), d);
            }
        }
    }

    // SAFETY: the processor has AVX2, in all of these.
    operator!(Wide, Add, add, |a, b| Self(unsafe { _mm256_add_ps(a.0, b.0) }));
    operator!(Wide, Sub, sub, |a, b| Self(unsafe { _mm256_sub_ps(a.0, b.0) }));
    operator!(Wide, Mul, mul, |a, b| Self(unsafe { _mm256_mul_ps(a.0, b.0) }));
    operator!(Wide, Div, div, |a, b| Self(unsafe { _mm256_div_ps(a.0, b.0) }));

    impl Neg for Wide {
        type Output = Self;
        #[inline(always)]
        fn neg(self) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm256_xor_ps(_mm256_set1_ps(-0.0), self.0) })
        }
    }
}
