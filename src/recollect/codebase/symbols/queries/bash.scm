(function_definition) @def.function
(program (variable_assignment) @def.variable)
(program (declaration_command (variable_assignment) @def.variable))

(command name: (command_name (word) @call))
(variable_name) @use
