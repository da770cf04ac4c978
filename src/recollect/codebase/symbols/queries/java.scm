(class_declaration) @def.class
(record_declaration) @def.class
(interface_declaration) @def.interface
(annotation_type_declaration) @def.interface
(enum_declaration) @def.enum
(enum_constant) @def.constant
(method_declaration) @def.method
(constructor_declaration) @def.method
(compact_constructor_declaration) @def.method
(annotation_type_element_declaration) @def.method
(field_declaration (variable_declarator) @def.field)
(constant_declaration (variable_declarator) @def.constant)

(import_declaration) @import

(method_invocation name: (identifier) @call)
(object_creation_expression type: (type_identifier) @call)
(object_creation_expression type: (generic_type (type_identifier) @call))
(object_creation_expression type: (scoped_type_identifier (type_identifier) @call))
(method_reference (identifier) @call)
(annotation name: (identifier) @call)
(marker_annotation name: (identifier) @call)
(superclass (type_identifier) @inherit)
(superclass (generic_type (type_identifier) @inherit))
(super_interfaces (type_list (type_identifier) @inherit))
(super_interfaces (type_list (generic_type (type_identifier) @inherit)))
(extends_interfaces (type_list (type_identifier) @inherit))
(extends_interfaces (type_list (generic_type (type_identifier) @inherit)))
(identifier) @use
(type_identifier) @use
