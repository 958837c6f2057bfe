//! The schemas of values that are written by hand.

/// Gives a type the schema of another type with the same written form, or the schema of a text that matches a pattern.
macro_rules! described {
    (<$($parameter:ident)?> $type:ty as $other:ty) => {
        #[cfg(feature = "schema")]
        impl<$($parameter)?> schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                <$other as schemars::JsonSchema>::schema_name()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                generator.subschema_for::<$other>()
            }
        }
    };
    ($type:ty as $other:ty) => {
        $crate::record::described::described!(<> $type as $other);
    };
    ($type:ty = $pattern:literal) => {
        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    };
}

pub(crate) use described;
