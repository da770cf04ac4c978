(function_declaration) @def.function
(generator_function_declaration) @def.function
(class_declaration) @def.class
(method_definition) @def.method
(field_definition) @def.field
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
(jsx_opening_element name: (identifier) @call)
(jsx_self_closing_element name: (identifier) @call)
(class_heritage (identifier) @inherit)
(class_heritage (member_expression property: (property_identifier) @inherit))
(identifier) @use
(property_identifier) @use
(shorthand_property_identifier) @use
