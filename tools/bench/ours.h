/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ours.h: a log of librpm that the benchmark fills and empties.
 */
#ifndef RPM_TOOLS_BENCH_OURS_H
#define RPM_TOOLS_BENCH_OURS_H

#include "bench/contender.h"

namespace bench
{

class OurLog : public Contender
{
  public:
    OurLog(const std::string &url, const std::string &name, Shape shape, uint64_t capacity,
           const ClientOptions &options = {});
    ~OurLog() override;

    void append(uint64_t n) override;
    void reset() override;
    uint64_t burst_max() const override;
    /* The LSN that the last reset() trimmed to, at which the next record starts. */
    uint64_t tail_lsn() const
    {
        return next_lsn_;
    }
    /* The tail now. */
    uint64_t read_tail() const;

  protected:
    const Shape shape_;
    std::vector<unsigned char> payload_;

    rpm_log *log() const
    {
        return log_.get();
    }

  private:
    void touch();

    std::string name_;
    uint64_t capacity_;
    uint64_t next_lsn_ = 0; /* start of the next record; all records before it are trimmed */
    std::vector<rpm_slice> slices_;
    cli::Conn conn_;
    cli::Log log_;
};

} // namespace bench
#endif
