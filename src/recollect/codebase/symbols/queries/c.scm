(function_definition) @def.function
(declaration declarator: (function_declarator)) @def.prototype
(declaration declarator: (pointer_declarator declarator: (function_declarator))) @def.prototype
(struct_specifier body: (field_declaration_list)) @def.struct
(union_specifier body: (field_declaration_list)) @def.struct
(enum_specifier body: (enumerator_list)) @def.enum
(enumerator) @def.constant
(type_definition) @def.type
(preproc_def) @def.macro
(preproc_function_def) @def.macro
(field_declaration) @def.field
(translation_unit (declaration declarator: (init_declarator)) @def.variable)
(translation_unit (declaration declarator: (identifier)) @def.variable)
(translation_unit (declaration declarator: (array_declarator)) @def.variable)

(preproc_include) @import

(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
(identifier) @use
(type_identifier) @use
(field_identifier) @use
