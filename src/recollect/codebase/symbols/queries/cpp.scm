(function_definition) @def.function
(declaration declarator: (function_declarator)) @def.prototype
(declaration declarator: (pointer_declarator declarator: (function_declarator))) @def.prototype
(declaration declarator: (reference_declarator (function_declarator))) @def.prototype
(field_declaration) @def.field
(class_specifier body: (field_declaration_list)) @def.class
(struct_specifier body: (field_declaration_list)) @def.struct
(union_specifier body: (field_declaration_list)) @def.struct
(enum_specifier body: (enumerator_list)) @def.enum
(enumerator) @def.constant
(namespace_definition) @def.namespace
(type_definition) @def.type
(alias_declaration) @def.type
(concept_definition) @def.type
(preproc_def) @def.macro
(preproc_function_def) @def.macro
(translation_unit (declaration declarator: (init_declarator)) @def.variable)
(namespace_definition body: (declaration_list (declaration declarator: (init_declarator)) @def.variable))

(preproc_include) @import
(using_declaration) @import

(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
(call_expression function: (qualified_identifier name: (identifier) @call))
(call_expression function: (template_function name: (identifier) @call))
(call_expression function: (qualified_identifier name: (template_function name: (identifier) @call)))
(call_expression function: (qualified_identifier name: (qualified_identifier name: (identifier) @call)))
(new_expression type: (type_identifier) @call)
(base_class_clause (type_identifier) @inherit)
(base_class_clause (qualified_identifier name: (type_identifier) @inherit))
(base_class_clause (template_type name: (type_identifier) @inherit))
(identifier) @use
(type_identifier) @use
(field_identifier) @use
(namespace_identifier) @use
