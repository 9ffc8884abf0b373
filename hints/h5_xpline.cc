/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h5_xpline.cc: H5: writes over 256 bytes that start at and fill media lines, or are packed at 64
 * bytes; and what a start in the middle of a media line costs.
 */
#include "harness/experiment.h"

namespace hints
{

namespace
{

std::vector<Point> measure(const rpm_facts &facts, uint32_t hints, bool reduced)
{
    std::vector<Point> points;

    for (uint64_t bytes : { 272u, 400u, 528u, 1040u, 2064u, 4112u })
        for (bool on : { false, true }) {
            Point point = clients(RPM_LOAD_WRITE, bytes);

            if (reduced && bytes != 272 && bytes != 528)
                continue;
            point.load.ops = ops_for(bytes, reduced);
            point.hints = with(hints, 5, on);
            plan_load(facts, &point);
            point.series = on ? "start at and fill 256 B" : "packed at 64 B";
            point.x = std::to_string(bytes);
            point.label = "h5/records/" + point.x + "/" + (on ? "on" : "off");
            points.push_back(point);
        }
    for (uint64_t skew : { 0u, 64u, 128u, 192u })
        for (uint64_t bytes : { 256u, 512u, 1024u }) {
            Point point = cores(RPM_LOAD_WRITE, bytes, 6);

            if (reduced && bytes != 256)
                continue;
            point.load.ops = ops_for(bytes, reduced);
            point.hints = with(hints, 5, skew == 0);
            plan_load(facts, &point);
            point.load.writers_max = 0;
            point.load.align_bytes = bytes + 256;
            point.load.skew_bytes = skew;
            point.series = std::to_string(bytes) + " B";
            point.x = std::to_string(skew);
            point.label = "h5/skew/" + std::to_string(bytes) + "/" + point.x;
            points.push_back(point);
        }
    return points;
}

} // namespace

extern const Experiment kXpline = {
    "h5",
    "H5",
    "h5_xpline.cc",
    "writes over 256 bytes start at, and fill, media lines of 256 bytes",
    "What is the cost of a media line that is not filled?",
    "Just over 256 bytes a padded record costs no more media writes than one that is packed, and "
    "fewer when that one lies across one more media line; the gain falls with size. 256 bytes "
    "across two media lines cost twice the media writes.",
    "To write a part of a media line takes as long as to write all of it.",
    { { "h5_records", "Clients, random records",
        "Padding to media lines gains most just above 256 B, and less the larger the record is.",
        "line", "x", "mops", "bytes of a record", "M operations/s", true, true },
      { "h5_skew", "Six cores, by where a write starts in a media line",
        "A start in the middle of a media line costs one media write more, whatever the size.",
        "line", "x", "write_amp", "bytes after the start of a media line",
        "media writes for each byte", false, false } },
    measure,
};

} // namespace hints
