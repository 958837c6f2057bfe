//! Codes: numbers on the wire with named values.

/// Gives a code its constants and `name`, so that each value and its name are written once. `$prefix` comes before the
/// constants in the names of the specification.
macro_rules! named {
    (
        $(#[$attribute:meta])*
        $type:ident, $specification:literal, $prefix:literal;
        $($(#[doc = $doc:literal])* $name:ident = $value:expr,)*
    ) => {
        impl $type {
            $($(#[doc = $doc])* pub const $name: Self = Self($value);)*

            #[doc = concat!("Its name in ", $specification, ".")]
            $(#[$attribute])*
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(concat!($prefix, stringify!($name))),)*
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use named;
