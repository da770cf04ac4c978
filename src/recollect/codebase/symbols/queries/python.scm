; Definitions: what a reader would jump to. The kind stands after "def."; a function inside a class becomes a method.
(function_definition) @def.function
(class_definition) @def.class
(type_alias_statement) @def.type
(module (expression_statement (assignment left: (identifier)) @def.variable))
(module (if_statement (block (expression_statement (assignment left: (identifier)) @def.variable))))
(class_definition body: (block (expression_statement (assignment left: (identifier)) @def.field)))

(import_statement) @import
(import_from_statement) @import

; References, the stronger first: a name that is called is not counted as merely used.
(call function: (identifier) @call)
(call function: (attribute attribute: (identifier) @call))
(decorator (identifier) @call)
(decorator (attribute attribute: (identifier) @call))
(class_definition superclasses: (argument_list (identifier) @inherit))
(class_definition superclasses: (argument_list (attribute attribute: (identifier) @inherit)))
(identifier) @use
