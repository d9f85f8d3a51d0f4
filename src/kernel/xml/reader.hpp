// From bytes to events: by the checked reader, and by expat where that is not sure.
#pragma once

#include "xml/checked_reader.hpp"
#include "xml/expat_reader.hpp"

namespace twigcast::xml {

using namespace base;

// What a reader keeps from document to document.
struct ReaderMemory {
    explicit ReaderMemory(const ExpatTable* expat) : expat(expat), checked(expat) {}

    const ExpatTable* const expat;
    Arena arena;
    CheckedMemory checked;
};

template <class Sink>
class Reader {
public:
    Reader(const Limits& limits, Sink& sink, ReaderMemory& memory)
        : limits_(limits), sink_(sink), memory_(memory) {}

    Failure read(const Input& input) noexcept {
        const bool tries = !input.only_expat && memory_.checked.is_due();
        if (tries && is_read_checked(input)) {
            memory_.checked.succeed();
            return {};
        }
        const Failure failure =
            ExpatReader<Sink>(memory_.expat, limits_, sink_, memory_.arena).read(input);
        if (tries && memory_.checked.has_begun && failure.trouble == Trouble::none) {
            memory_.checked.fail();
        }
        return failure;
    }

private:
    static constexpr size_t MOST_KEPT = size_t{1} << 20;

    bool is_read_checked(const Input& input) noexcept {
        if constexpr (std::is_base_of_v<AsWritten, Sink>) return false;
        try {
            const bool is_read = CheckedReader<Sink>(limits_, sink_, memory_.checked).read(input);
            if (memory_.checked.converted.capacity() > MOST_KEPT) memory_.checked.converted = {};
            return is_read;
        } catch (const std::exception&) {
            return false;  // expat will say what is wrong
        }
    }

    const Limits limits_;
    Sink& sink_;
    ReaderMemory& memory_;
};

}  // namespace twigcast::xml
