(function_declaration) @def.function
(generator_function_declaration) @def.function
(function_signature) @def.function
(class_declaration) @def.class
(abstract_class_declaration) @def.class
(interface_declaration) @def.interface
(type_alias_declaration) @def.type
(enum_declaration) @def.enum
(internal_module) @def.namespace
(method_definition) @def.method
(method_signature) @def.method
(abstract_method_signature) @def.method
(public_field_definition) @def.field
(variable_declarator value: [(arrow_function) (function_expression) (generator_function)]) @def.function
(variable_declarator value: (class)) @def.class
(assignment_expression left: (member_expression) right: [(arrow_function) (function_expression)]) @def.function
(pair key: (property_identifier) value: [(arrow_function) (function_expression)]) @def.method
(program (lexical_declaration (variable_declarator name: (identifier)) @def.variable))
(program (variable_declaration (variable_declarator name: (identifier)) @def.variable))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier)) @def.variable)))

(import_statement) @import
(export_statement source: (string)) @import

(call_expression function: (identifier) @call)
(call_expression function: (member_expression property: (property_identifier) @call))
(new_expression constructor: (identifier) @call)
(new_expression constructor: (member_expression property: (property_identifier) @call))
(decorator (identifier) @call)
(decorator (call_expression function: (identifier) @call))
(extends_clause value: (identifier) @inherit)
(extends_clause value: (member_expression property: (property_identifier) @inherit))
(implements_clause (type_identifier) @inherit)
(implements_clause (generic_type name: (type_identifier) @inherit))
(extends_type_clause (type_identifier) @inherit)
(extends_type_clause (generic_type name: (type_identifier) @inherit))
(identifier) @use
(type_identifier) @use
(property_identifier) @use
(shorthand_property_identifier) @use
