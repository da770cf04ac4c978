(class_declaration) @def.class
(record_declaration) @def.class
(struct_declaration) @def.struct
(interface_declaration) @def.interface
(enum_declaration) @def.enum
(enum_member_declaration) @def.constant
(delegate_declaration) @def.type
(method_declaration) @def.method
(constructor_declaration) @def.method
(local_function_statement) @def.function
(property_declaration) @def.field
(field_declaration (variable_declaration (variable_declarator) @def.field))
(event_field_declaration (variable_declaration (variable_declarator) @def.field))
(namespace_declaration) @def.namespace
(file_scoped_namespace_declaration) @def.namespace

(using_directive) @import

(invocation_expression function: (identifier) @call)
(invocation_expression function: (generic_name (identifier) @call))
(invocation_expression function: (member_access_expression name: (identifier) @call))
(invocation_expression function: (member_access_expression name: (generic_name (identifier) @call)))
(invocation_expression function: (conditional_access_expression (member_binding_expression name: (identifier) @call)))
(object_creation_expression type: (identifier) @call)
(object_creation_expression type: (generic_name (identifier) @call))
(attribute name: (identifier) @call)
(base_list (identifier) @inherit)
(base_list (generic_name (identifier) @inherit))
(base_list (qualified_name name: (identifier) @inherit))
(identifier) @use
