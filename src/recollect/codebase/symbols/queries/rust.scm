(function_item) @def.function
(function_signature_item) @def.function
(struct_item) @def.struct
(union_item) @def.struct
(enum_item) @def.enum
(enum_variant) @def.constant
(trait_item) @def.trait
(type_item) @def.type
(const_item) @def.constant
(static_item) @def.variable
(mod_item) @def.module
(macro_definition) @def.macro
(field_declaration) @def.field
(impl_item) @scope

(use_declaration) @import
(extern_crate_declaration) @import

(call_expression function: (identifier) @call)
(call_expression function: (scoped_identifier name: (identifier) @call))
(call_expression function: (field_expression field: (field_identifier) @call))
(call_expression function: (generic_function function: (identifier) @call))
(call_expression function: (generic_function function: (scoped_identifier name: (identifier) @call)))
(call_expression function: (generic_function function: (field_expression field: (field_identifier) @call)))
(macro_invocation macro: (identifier) @call)
(macro_invocation macro: (scoped_identifier name: (identifier) @call))
(struct_expression name: (type_identifier) @call)
(impl_item trait: (type_identifier) @inherit)
(impl_item trait: (generic_type type: (type_identifier) @inherit))
(impl_item trait: (scoped_type_identifier name: (type_identifier) @inherit))
(identifier) @use
(type_identifier) @use
(field_identifier) @use
