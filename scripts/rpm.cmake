# SPDX-License-Identifier: BSD-3-Clause
# rpm.cmake: how a folder adds its sources, tests and programs.

# Sources of the library, relative to the calling folder.
function(rpm_sources)
    foreach(source IN LISTS ARGN)
        set_property(GLOBAL APPEND PROPERTY RPM_SOURCES "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
    endforeach()
endfunction()

# rpm_test(NAME LABEL label [COMMAND_ARGS ...] [TIMEOUT s] SOURCES file...): a Catch2 program
# that sees the library's internals.
function(rpm_test name)
    cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;COMMAND_ARGS" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE rpm_testing rpm_catch)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    add_test(NAME ${name} COMMAND ${name} ${arg_COMMAND_ARGS})
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 300)
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABEL}" TIMEOUT ${arg_TIMEOUT})
endfunction()

# rpm_program(NAME SOURCES file...): an installed program; sees only the public headers.
function(rpm_program name)
    cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE rpm rpm_tool)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()
