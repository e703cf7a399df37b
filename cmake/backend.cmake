# oarlock_backend(NAME sources...): one plugin, built from the C header and the kit alone, with one exported symbol.
function(oarlock_backend name)
  add_library(oarlock_${name} MODULE ${ARGN})
  target_include_directories(oarlock_${name} PRIVATE ${CMAKE_SOURCE_DIR}/api/abi ${CMAKE_SOURCE_DIR}/backends/kit)
  target_link_libraries(oarlock_${name} PRIVATE oarlock_flags)
  set_target_properties(oarlock_${name} PROPERTIES PREFIX "lib" LIBRARY_OUTPUT_DIRECTORY ${OARLOCK_BACKEND_DIR})
  target_link_options(oarlock_${name} PRIVATE
    -Wl,--version-script=${CMAKE_SOURCE_DIR}/backends/kit/plugin.map -Wl,--exclude-libs,ALL)
  if(NOT OARLOCK_SANITIZE)
    target_link_options(oarlock_${name} PRIVATE -Wl,-z,defs)
  endif()
endfunction()
