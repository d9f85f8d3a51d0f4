// An index as a file that is used where it lies.
//
//     header · table of sections · sections, each at a multiple of 64 bytes
//
// A section is one array of the index, in the order of Index::each_array.  The checksum is over all
// that follows the header and over the rest of the header, so that no damage goes unseen; beyond
// that every number in the arrays is checked to lead somewhere before it is trusted.
#pragma once

#include <cstring>

#include "base/expression_codes.hpp"
#include "base/operators.hpp"
#include "index/soundness.hpp"

namespace twigcast::index {

using namespace base;

// To be raised with every change of what the arrays mean.  The codes of operators, functions and
// axes are part of it.
constexpr uint32_t FORMAT = 6;
constexpr uint32_t INDEX_FILE_VERSION =
    FORMAT << 24 | ((OPERATORS_CHECKSUM ^ EXPRESSIONS_CHECKSUM) & 0xFFFFFF);

struct FileHeader {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
    uint64_t layout;  // the sizes of all elements, mixed
    uint64_t size;    // of the file
    HashSecret secret;
    uint64_t updates;
    uint64_t checksum;
};
static_assert(sizeof(FileHeader) == 64);

struct Section {
    const char* data;
    uint64_t size;
};

enum class FileTrouble : int { none, not_ours, other_version, other_machine, truncated, damaged };

// Of bytes that come in pieces, however they are cut.
class Checksum {
public:
    void add(const char* data, size_t size) {
        while (size > 0 && (waiting_ != 0 || size < sizeof block_)) {
            block_[waiting_++] = *data++;
            --size;
            if (waiting_ == sizeof block_) enter(block_);
            waiting_ %= sizeof block_;
        }
        for (; size >= sizeof block_; data += sizeof block_, size -= sizeof block_) enter(data);
        std::memcpy(block_, data, size);
        waiting_ += size;
    }

    // The whole must have been a number of full blocks, which a file is.
    uint64_t value() const {
        uint64_t value = waiting_;
        for (const uint64_t lane : lanes_) value = (value ^ lane) * FACTOR + (value >> 29);
        return value;
    }

private:
    static constexpr uint64_t FACTOR = 0x9E3779B97F4A7C15;

    // Each word enters by a bijection, so no single change of one goes unseen.
    void enter(const char* block) {
        uint64_t words[4];
        std::memcpy(words, block, sizeof words);
        for (int lane = 0; lane < 4; ++lane) {
            lanes_[lane] = (lanes_[lane] ^ words[lane]) * FACTOR;
            lanes_[lane] ^= lanes_[lane] >> 32;
        }
    }

    uint64_t lanes_[4] = {1, 2, 3, 4};
    char block_[32] = {};
    size_t waiting_ = 0;
};

class IndexFile {
public:
    // The file of an index, in pieces to be written one behind the other.  They are good as long
    // as the index stays as it is, and as this object.
    explicit IndexFile(Index& index) {
        std::vector<Section> arrays;
        index.each_array([&](auto& array) {
            using Element = typename std::remove_reference_t<decltype(array)>::Element;
            arrays.push_back(
                {reinterpret_cast<const char*>(array.data()), array.size() * sizeof(Element)});
        });
        uint64_t at = aligned(sizeof(FileHeader) + arrays.size() * sizeof(uint64_t) * 2);
        for (const Section& array : arrays) {
            put(at);
            put(array.size);
            at = aligned(at + array.size);
        }
        table_.resize(aligned(sizeof(FileHeader) + table_.size()) - sizeof(FileHeader), '\0');
        std::memcpy(header_.magic, MAGIC, sizeof header_.magic);
        header_.version = INDEX_FILE_VERSION;
        header_.byte_order = BYTE_ORDER_MARK;
        header_.layout = layout_of(index);
        header_.size = at;
        header_.secret = index.secret;
        header_.updates = index.version();
        header_.checksum = 0;
        pieces.push_back({reinterpret_cast<const char*>(&header_), sizeof header_});
        pieces.push_back({table_.data(), table_.size()});
        for (const Section& array : arrays) {
            if (array.size != 0) pieces.push_back(array);
            const uint64_t gap = aligned(array.size) - array.size;
            if (gap != 0) pieces.push_back({GAP, gap});
        }
        Checksum sum;
        for (const Section& piece : pieces) sum.add(piece.data, piece.size);
        header_.checksum = sum.value();
    }

    std::vector<Section> pieces;

    // Look at the index that lies at `data`, which must stay there as long as the index.
    static FileTrouble open(const char* data, size_t size, Index& index) {
        FileHeader header;
        if (size < sizeof header)
            return is_start_of_magic(data, size) ? FileTrouble::truncated : FileTrouble::not_ours;
        std::memcpy(&header, data, sizeof header);
        if (std::memcmp(header.magic, MAGIC, sizeof header.magic) != 0)
            return FileTrouble::not_ours;
        if (header.byte_order != BYTE_ORDER_MARK) return FileTrouble::other_machine;
        if (header.version != INDEX_FILE_VERSION) return FileTrouble::other_version;
        if (header.layout != layout_of(index)) return FileTrouble::other_machine;
        if (size < header.size) return FileTrouble::truncated;
        if (size != header.size || sum_of(header, data) != header.checksum)
            return FileTrouble::damaged;
        size_t entry = sizeof header;
        bool good = true;
        index.each_array([&](auto& array) {
            using Element = typename std::remove_reference_t<decltype(array)>::Element;
            uint64_t range[2] = {0, 0};
            if (entry <= size && size - entry >= sizeof range)
                std::memcpy(range, data + entry, sizeof range);
            entry += sizeof range;
            good = good && range[0] % ALIGNMENT == 0 && range[0] <= size &&
                   range[1] <= size - range[0] && range[1] % sizeof(Element) == 0 && entry <= size;
            if (good) {
                array.view(reinterpret_cast<const Element*>(data + range[0]),
                           range[1] / sizeof(Element));
            }
        });
        return good && index.settle(header.updates) ? FileTrouble::none : FileTrouble::damaged;
    }

    static HashSecret secret_of(const char* data, size_t size) {
        FileHeader header{};
        if (size >= sizeof header) std::memcpy(&header, data, sizeof header);
        return header.secret;
    }

private:
    static constexpr char MAGIC[] = "TWIGCAST";
    static constexpr uint32_t BYTE_ORDER_MARK = 0x01020304;
    static constexpr uint64_t ALIGNMENT = 64;
    static constexpr char GAP[ALIGNMENT] = {};

    static uint64_t aligned(uint64_t at) { return (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

    static bool is_start_of_magic(const char* data, size_t size) {
        return size > 0 && std::memcmp(data, MAGIC, std::min<size_t>(size, 8)) == 0;
    }

    static uint64_t layout_of(Index& index) {
        uint64_t layout = sizeof(void*);
        index.each_array([&](auto& array) {
            using Element = typename std::remove_reference_t<decltype(array)>::Element;
            layout = mix(layout ^ sizeof(Element), 0x9E3779B97F4A7C15);
        });
        return layout;
    }

    static uint64_t sum_of(FileHeader header, const char* data) {
        header.checksum = 0;
        Checksum sum;
        sum.add(reinterpret_cast<const char*>(&header), sizeof header);
        sum.add(data + sizeof header, header.size - sizeof header);
        return sum.value();
    }

    void put(uint64_t number) {
        table_.append(reinterpret_cast<const char*>(&number), sizeof number);
    }

    FileHeader header_{};
    std::string table_;
};

}  // namespace twigcast::index
