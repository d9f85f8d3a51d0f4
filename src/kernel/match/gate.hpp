// A lock for many readers or one writer.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/common.hpp"

namespace twigcast::match {

// Many readers or one writer; writers that wait go before new readers.
class Gate {
public:
    void start_reading() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return writers_ == 0; });
        ++readers_;
    }
    void stop_reading() {
        std::lock_guard lock(mutex_);
        if (--readers_ == 0 && writers_ != 0) changed_.notify_all();
    }
    void start_writing() {
        std::unique_lock lock(mutex_);
        ++writers_;
        changed_.wait(lock, [&] { return readers_ == 0 && !writing_; });
        writing_ = true;
    }
    void stop_writing() {
        std::lock_guard lock(mutex_);
        writing_ = false;
        --writers_;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    uint32_t readers_ = 0, writers_ = 0;
    bool writing_ = false;
};

class Reading {
public:
    explicit Reading(Gate& gate) : gate_(gate) { gate_.start_reading(); }
    ~Reading() { gate_.stop_reading(); }

private:
    Gate& gate_;
};

class Writing {
public:
    explicit Writing(Gate& gate) : gate_(gate) { gate_.start_writing(); }
    ~Writing() { gate_.stop_writing(); }

private:
    Gate& gate_;
};

}  // namespace twigcast::match
