//! Codes: numbers on the wire with named values.

/// Gives a code its constants, `name` and `Display`, so that a value and the name of the value are written once.
/// `$prefix` comes before the constants in the names of the specification. A value without a name is shown as a number
/// of `$field`.
macro_rules! named {
    (
        $(#[$attribute:meta])*
        $type:ident of $specification:literal, prefix $prefix:literal, field $field:literal;
        $($(#[doc = $doc:literal])* $name:ident = $value:expr,)*
    ) => {
        impl $type {
            $($(#[doc = $doc])* pub const $name: Self = Self($value);)*

            #[doc = concat!("Returns the name of the value in ", $specification, ".")]
            $(#[$attribute])*
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(concat!($prefix, stringify!($name))),)*
                    _ => None,
                }
            }
        }

        impl ::core::fmt::Display for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, concat!($field, " {}"), self.0),
                }
            }
        }
    };
}

pub(crate) use named;
