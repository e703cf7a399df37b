# Warnings, sanitizers and paths that are the same for every target.
add_library(oarlock_flags INTERFACE)
target_compile_options(oarlock_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(oarlock_flags INTERFACE -Wno-unused-command-line-argument)
endif()

if(OARLOCK_SANITIZE)
  add_compile_options(-fsanitize=${OARLOCK_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${OARLOCK_SANITIZE})
  if(OARLOCK_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
if(OARLOCK_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
