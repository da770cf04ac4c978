(function_declaration) @def.function
(method_declaration) @def.method
(method_elem) @def.method
(type_spec) @def.type
(type_alias) @def.type
(source_file (const_declaration (const_spec) @def.constant))
(source_file (var_declaration (var_spec) @def.variable))
(source_file (var_declaration (var_spec_list (var_spec) @def.variable)))
(field_declaration name: (field_identifier)) @def.field

(import_spec) @import

(call_expression function: (identifier) @call)
(call_expression function: (selector_expression field: (field_identifier) @call))
(composite_literal type: (type_identifier) @call)
(composite_literal type: (qualified_type name: (type_identifier) @call))
(identifier) @use
(type_identifier) @use
(field_identifier) @use
