# SPDX-License-Identifier: BSD-3-Clause
# agent.cmake: agents that are killed and stopped.
rpm_script_test(kill_agent_segments LABEL kill agent TIMEOUT 300 COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/agent_segments
    --codec $<IF:$<BOOL:${LIBRPM_ZSTD}>,zstd,none> ${server} $<TARGET_FILE:rpm-agent> $<TARGET_FILE:rpm-log>)
rpm_script_test(kill_agent_decisions LABEL kill agent TIMEOUT 300 COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/agent_segments
    --far ${server} $<TARGET_FILE:rpm-agent> $<TARGET_FILE:rpm-log>)
rpm_script_test(kill_agent LABEL kill agent TIMEOUT 300 COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/agent_orders
    ${server} $<TARGET_FILE:rpm-agent> $<TARGET_FILE:rpm-log>)
rpm_script_test(kill_agent_carry LABEL kill agent TIMEOUT 300 COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/agent_orders
    ${server} $<TARGET_FILE:rpm-agent> $<TARGET_FILE:rpm-log> --carry)
