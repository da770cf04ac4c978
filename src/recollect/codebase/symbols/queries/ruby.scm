(method) @def.function
(singleton_method) @def.function
(class) @def.class
(module) @def.module
(assignment left: (constant)) @def.constant

(call method: (identifier) @call)
(call method: (constant) @call)
(superclass (constant) @inherit)
(superclass (scope_resolution name: (constant) @inherit))
(identifier) @use
(constant) @use
