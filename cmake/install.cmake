# Install rules: headers, liboarlock, plugins, kit, programs, the CMake package and the pkg-config files. Included last,
# when every target exists.
include(CMakePackageConfigHelpers)

set(OARLOCK_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/oarlock)
set(OARLOCK_PKGCONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(OARLOCK_KIT_DIR ${CMAKE_INSTALL_INCLUDEDIR}/oarlock/kit)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/api/abi/oarlock ${CMAKE_SOURCE_DIR}/api/include/oarlock
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.def")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/backends/kit/ DESTINATION ${OARLOCK_KIT_DIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.map")

install(TARGETS oarlock EXPORT oarlockTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# oarlock_targets(FOLDER TYPE OUT): the targets of one type that a folder and its subfolders define.
function(oarlock_targets folder type out)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  set(found)
  foreach(target IN LISTS targets)
    get_target_property(target_type ${target} TYPE)
    if(target_type STREQUAL type)
      list(APPEND found ${target})
    endif()
  endforeach()
  get_property(subfolders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(subfolder IN LISTS subfolders)
    oarlock_targets(${subfolder} ${type} below)
    list(APPEND found ${below})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

oarlock_targets(${CMAKE_SOURCE_DIR}/backends MODULE_LIBRARY plugins)
if(plugins)
  install(TARGETS ${plugins} LIBRARY DESTINATION ${OARLOCK_BACKEND_INSTALL_DIR})
endif()

# Programs: what api/ builds (the oarlock command, the kit), finding the library beside them wherever they are put.
oarlock_targets(${CMAKE_SOURCE_DIR}/api EXECUTABLE programs)
if(programs)
  set_target_properties(${programs} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# What a plugin compiles against: headers, no library. The version script leaves one symbol to export.
add_library(oarlock_plugin INTERFACE)
set_target_properties(oarlock_plugin PROPERTIES EXPORT_NAME plugin)
target_include_directories(oarlock_plugin INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${OARLOCK_KIT_DIR}>)
target_link_options(oarlock_plugin INTERFACE
  $<INSTALL_INTERFACE:-Wl,--version-script=$<INSTALL_PREFIX>/${OARLOCK_KIT_DIR}/plugin.map>)
install(TARGETS oarlock_plugin EXPORT oarlockPluginTargets)

install(EXPORT oarlockTargets NAMESPACE oarlock:: DESTINATION ${OARLOCK_CMAKE_DIR})
install(EXPORT oarlockPluginTargets NAMESPACE oarlock:: DESTINATION ${OARLOCK_CMAKE_DIR})

set(package ${CMAKE_SOURCE_DIR}/bindings/c)
set(made ${CMAKE_BINARY_DIR}/package)
configure_package_config_file(${package}/oarlockConfig.cmake.in ${made}/oarlockConfig.cmake
  INSTALL_DESTINATION ${OARLOCK_CMAKE_DIR} PATH_VARS OARLOCK_BACKEND_INSTALL_DIR)
write_basic_package_version_file(${made}/oarlockConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${made}/oarlockConfig.cmake ${made}/oarlockConfigVersion.cmake DESTINATION ${OARLOCK_CMAKE_DIR})

# The .pc files find their prefix from where they lie, so that the whole tree may be moved.
file(RELATIVE_PATH OARLOCK_PC_TO_PREFIX /p/${OARLOCK_PKGCONFIG_DIR} /p)
string(REGEX REPLACE "/$" "" OARLOCK_PC_TO_PREFIX "${OARLOCK_PC_TO_PREFIX}")
foreach(name oarlock oarlock-plugin)
  configure_file(${package}/${name}.pc.in ${made}/${name}.pc @ONLY)
  install(FILES ${made}/${name}.pc DESTINATION ${OARLOCK_PKGCONFIG_DIR})
endforeach()

install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/api/docs/vendor-guide.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
