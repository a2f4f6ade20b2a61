//! Structs that Rust and WGSL share. They are declared in Rust, and their WGSL declarations are generated from Rust.
//!
//! WGSL places a member at the next multiple of its alignment, whereas Rust packs members one behind the other.
//! [`follows_wgsl`] compares the two layouts of every struct at compile time.

use glam::{IVec3, UVec3, UVec4, Vec3};

/// A type that a member of a shared struct may have. Its size is the same in Rust and WGSL.
pub trait WgslType: Sized {
    /// Alignment in WGSL (bytes).
    const ALIGN: usize;

    /// The WGSL declaration of a member of this type.
    fn declare(member: &str) -> String;
}

macro_rules! wgsl_types {
    ($($rust:ty = $wgsl:literal, $align:literal;)*) => {
        $(impl WgslType for $rust {
            const ALIGN: usize = $align;

            fn declare(member: &str) -> String {
                format!("    {member}: {},\n", $wgsl)
            }
        })*
    };
}

wgsl_types! {
    u32 = "u32", 4;
    i32 = "i32", 4;
    f32 = "f32", 4;
    Vec3 = "vec3f", 16;
    IVec3 = "vec3i", 16;
    UVec3 = "vec3u", 16;
}

impl<const N: usize> WgslType for [UVec4; N] {
    const ALIGN: usize = 16;

    fn declare(member: &str) -> String {
        format!("    {member}: array<vec4u, {N}>,\n")
    }
}

/// Words that pad a Rust struct up to the next alignment. WGSL inserts the gap by itself.
impl<const N: usize> WgslType for [u32; N] {
    const ALIGN: usize = 4;

    fn declare(_: &str) -> String {
        String::new()
    }
}

/// A member of a shared struct, as Rust lays it out.
pub struct Member {
    pub name: &'static str,
    /// Offset in Rust (bytes).
    pub offset: usize,
    /// Size on both sides (bytes).
    pub size: usize,
    /// Alignment in WGSL (bytes).
    pub align: usize,
    /// The declaration in WGSL of a member of this type with the given name.
    pub declare: fn(&str) -> String,
}

/// A struct that Rust and WGSL share.
pub trait WgslStruct: WgslType {
    const NAME: &'static str;
    const MEMBERS: &'static [Member];

    /// The declaration in WGSL.
    fn wgsl() -> String {
        let members: String = Self::MEMBERS.iter().map(|member| (member.declare)(member.name)).collect();
        format!("struct {} {{\n{members}}}\n", Self::NAME)
    }
}

/// Alignment in WGSL of a struct with these members: the largest of theirs.
pub const fn alignment(members: &[Member]) -> usize {
    let (mut largest, mut k) = (1, 0);
    while k < members.len() {
        if members[k].align > largest {
            largest = members[k].align;
        }
        k += 1;
    }
    largest
}

/// Returns whether WGSL and Rust agree on the offset of every member and on the size of the struct.
pub const fn follows_wgsl<T: WgslStruct>() -> bool {
    let (mut end, mut k) = (0usize, 0);
    while k < T::MEMBERS.len() {
        let Member { offset, size, align, .. } = T::MEMBERS[k];
        if offset != end.next_multiple_of(align) {
            return false;
        }
        end = offset + size;
        k += 1;
    }
    size_of::<T>() == end.next_multiple_of(T::ALIGN)
}

/// Declares structs for both languages, and in `$text` the function that writes all of them as WGSL.
macro_rules! shared_structs {
    ($text:ident; $(
        $(#[$doc:meta])*
        struct $name:ident {
            $($(#[$member_doc:meta])* $member:ident: $type:ty,)*
        }
    )*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
            pub struct $name {
                $($(#[$member_doc])* pub $member: $type,)*
            }

            impl $crate::gpu::wgsl::WgslType for $name {
                const ALIGN: usize =
                    $crate::gpu::wgsl::alignment(<Self as $crate::gpu::wgsl::WgslStruct>::MEMBERS);

                fn declare(member: &str) -> String {
                    format!("    {member}: {},\n", stringify!($name))
                }
            }

            impl $crate::gpu::wgsl::WgslStruct for $name {
                const NAME: &'static str = stringify!($name);
                const MEMBERS: &'static [$crate::gpu::wgsl::Member] = &[
                    $($crate::gpu::wgsl::Member {
                        name: stringify!($member),
                        offset: std::mem::offset_of!($name, $member),
                        size: size_of::<$type>(),
                        align: <$type as $crate::gpu::wgsl::WgslType>::ALIGN,
                        declare: <$type as $crate::gpu::wgsl::WgslType>::declare,
                    },)*
                ];
            }

            const _: () = assert!(
                $crate::gpu::wgsl::follows_wgsl::<$name>(),
                concat!(
                    "WGSL lays ", stringify!($name), " out differently: vectors begin, and structs with vectors end, \
                     at a multiple of 16 bytes; fill gaps with `unused: [u32; N]`"
                )
            );
        )*

        /// The structs as WGSL.
        pub fn $text() -> String {
            [$(<$name as $crate::gpu::wgsl::WgslStruct>::wgsl()),*].concat()
        }
    };
}
pub(super) use shared_structs;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::layout::{
        Body, Event, Frame, NextEvent, Node, RegionOffsets, Round, Tag, VelocityBound, structs_as_wgsl,
    };

    // Name and offset of every member that the WGSL of a Rust struct has.
    fn members<T: WgslStruct>() -> Vec<(String, usize)> {
        let mut all = vec![];
        for member in T::MEMBERS.iter().filter(|member| member.name != "unused") {
            match member.name {
                "at" => all.extend(
                    RegionOffsets::MEMBERS
                        .iter()
                        .map(|region| (format!("at_{}", region.name), member.offset + region.offset)),
                ),
                name => all.push((name.to_owned(), member.offset)),
            }
        }
        all
    }

    // Returns whether naga lays out the struct in this text as Rust does.
    fn agrees<T: WgslStruct>(module: &naga::Module) -> bool {
        let found = module.types.iter().find(|(_, t)| t.name.as_deref() == Some(T::NAME));
        let Some((_, found)) = found else { panic!("no struct {}", T::NAME) };
        let naga::TypeInner::Struct { members: theirs, span } = &found.inner else { panic!("{}", T::NAME) };
        let theirs: Vec<_> = theirs.iter().map(|m| (m.name.clone().unwrap(), m.offset as usize)).collect();
        *span as usize == size_of::<T>() && theirs == members::<T>()
    }

    fn all_agree(text: &str) -> bool {
        let module =
            naga::front::wgsl::parse_str(text).unwrap_or_else(|e| panic!("{}", e.emit_to_string(text)));
        [
            agrees::<Body>,
            agrees::<Tag>,
            agrees::<Node>,
            agrees::<Event>,
            agrees::<VelocityBound>,
            agrees::<NextEvent>,
            agrees::<Frame>,
            agrees::<Round>,
        ]
        .iter()
        .all(|agrees| agrees(&module))
    }

    #[test]
    fn naga_lays_shared_structs_out_as_rust_does() {
        let text = structs_as_wgsl();
        assert!(all_agree(&text), "{text}");
        // The comparison can fail: in a type, a name, an order and an alignment.
        for (from, to) in [
            ("    toi: f32,\n", "    toi: vec2f,\n"),
            ("    at_heads: u32,\n", "    at_head: u32,\n"),
            ("    at_heads: u32,\n    at_marks: u32,\n", "    at_marks: u32,\n    at_heads: u32,\n"),
            ("    h: f32,\n", ""),
            ("    number: u32,\n", "    number: u32,\n    more: u32,\n"),
        ] {
            assert!(text.contains(from), "{from}");
            assert!(!all_agree(&text.replace(from, to)), "{from} -> {to}");
        }
    }

    #[test]
    fn a_vector_behind_a_single_word_is_found() {
        #[repr(C)]
        struct Misaligned {
            _word: u32,
            _vector: Vec3,
        }
        impl WgslType for Misaligned {
            const ALIGN: usize = alignment(Self::MEMBERS);

            fn declare(_: &str) -> String {
                unreachable!("no struct holds it")
            }
        }
        impl WgslStruct for Misaligned {
            const NAME: &'static str = "Misaligned";
            const MEMBERS: &'static [Member] = &[
                Member { name: "word", offset: 0, size: 4, align: 4, declare: u32::declare },
                Member { name: "vector", offset: 4, size: 12, align: 16, declare: Vec3::declare },
            ];
        }
        assert!(!follows_wgsl::<Misaligned>());
        assert!(follows_wgsl::<Body>());
    }
}
