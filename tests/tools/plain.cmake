# SPDX-License-Identifier: BSD-3-Clause
# plain.cmake: tests of speed and of modelled results, which a sanitizer does not change.
add_executable(append_loop append_loop.cpp)
target_link_libraries(append_loop PRIVATE rpm rpm_build)
tool_test(cost 240 append_loop rpm-server rpm-log)

# rpm-hints with the library whose rules can be removed.
get_target_property(sources rpm-hints SOURCES)
get_target_property(hints rpm-hints SOURCE_DIR)
list(TRANSFORM sources PREPEND ${hints}/)
add_executable(hints_canary hints_canary.cpp ${sources})
target_include_directories(hints_canary PRIVATE ${hints})
target_link_libraries(hints_canary PRIVATE rpm_testing rpm_tool rpm_build)
add_dependencies(rpm_short_tests hints_canary)
rpm_script_test(hints_canary LABEL canary short
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/hints_canary_test $<TARGET_FILE:hints_canary>)

# Paths of a server with a DPU: the program, and published figures.
tool_test(pathbench 240 rpm-pathbench)
tool_test(pathbench_live 240 rpm-pathbench rpm-server rpm-agent rpm-log)
rpm_script_test(paths_check LABEL unit TIMEOUT 240
    COMMAND $<TARGET_FILE:rpm-pathbench> --check ${PROJECT_SOURCE_DIR}/paths)
