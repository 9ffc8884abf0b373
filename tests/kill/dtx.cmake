# SPDX-License-Identifier: BSD-3-Clause
# dtx.cmake: transactions whose clients and servers are killed and stopped.
set(programs ${server} $<TARGET_FILE:dtx-bench> $<TARGET_FILE:dtx-check>)
set(dtx ${CMAKE_CURRENT_SOURCE_DIR}/dtx_)
foreach(name durability promotion stopped)
    rpm_script_test(kill_dtx_${name} LABEL kill TIMEOUT 600 COMMAND ${dtx}${name} ${programs})
endforeach()
add_executable(kill_dtx_torn dtx_torn.cpp)
target_link_libraries(kill_dtx_torn PRIVATE dtx rpm_build)
rpm_script_test(kill_dtx_torn LABEL kill TIMEOUT 300 COMMAND $<TARGET_FILE:kill_dtx_torn> ${server} 40)

add_dependencies(rpm_short_tests dtx-bench dtx-check)
foreach(canary log-late drop-commit)
    rpm_script_test(kill_dtx_${canary} LABEL canary short TIMEOUT 1200
        COMMAND ${dtx}durability --rounds 20 --canary ${canary} ${programs})
endforeach()
rpm_script_test(kill_dtx_no-redo LABEL canary short TIMEOUT 900
    COMMAND ${dtx}promotion --rounds 30 --canary no-redo ${programs})
