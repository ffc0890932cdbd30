# Writes what the module MODULE expects of the program that opens it: NAMES.list for the linker's
# --dynamic-list, NAMES.options with -u for each, so that no part of a static library is left out.
# Reads the module with NM.
execute_process(COMMAND ${NM} --dynamic --undefined-only --format=posix ${MODULE}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n ]*8roofcast[^\n ]* U" symbols "${symbols}")
list(TRANSFORM symbols REPLACE " U$" "")
list(JOIN symbols "\n-u " options)
list(JOIN symbols ";\n" names)
file(WRITE ${NAMES}.options "-u ${options}\n")
file(WRITE ${NAMES}.list "{\n${names};\n};\n")
